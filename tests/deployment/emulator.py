"""An AWS account on this machine: ministack, run as a command of a separate environment (`.tools/ministack`)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from signal import Signals
from typing import Any, Self

import boto3

from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.loopback import HOST, free_port, get_status

from .listening import require_only_listener
from .sam import PROJECT

PYTHON = PROJECT / ".tools" / "ministack" / "bin" / "python"
COMMAND = PROJECT / ".tools" / "ministack" / "bin" / "ministack"
LAUNCHER = Path(__file__).with_name("ministack_process.py")
REGION = "eu-central-1"
START_SECONDS = 60

# Otherwise the emulator would listen on all addresses for MQTT and SFTP, whatever BIND_HOST says.
NO_OTHER_LISTENERS = {"IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0"}

# The account's concurrency. For each concurrent call the emulator unpacks the function's layers and starts a process on
# this machine. With 160 concurrent calls none would answer before the caller's timeout, and retries would add calls.
CONCURRENT_EXECUTIONS = 16


class Emulator:
    """Starts ministack on one address and stops it; it writes under `directory` only.

    It enforces IAM: a function may do only what its role's policies allow.
    """

    def __init__(self, directory: Path, *, host: str = HOST, port: int | None = None) -> None:
        self._directory = directory
        self._host = host
        self._port = port or free_port()
        self._process: ChildProcess | None = None
        self.endpoint_url = f"http://{host}:{self._port}"

    def __enter__(self) -> Self:
        self._directory.mkdir(exist_ok=True)
        health = f"{self.endpoint_url}/_ministack/health"
        self._process = ChildProcess(
            ["env", *self._variables(), PYTHON, "-P", LAUNCHER], self._directory / f"ministack-{self._port}.log"
        )
        try:
            self._process.wait_until(lambda: get_status(health) == 200, seconds=START_SECONDS)
            self._check_addresses()
        except BaseException:
            self._process.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.stop()

    def wait(self) -> None:
        if self._process is not None:
            self._process.wait()

    def send(self, what: Signals) -> None:
        if self._process is not None:
            self._process.send(what)

    def environment(self) -> dict[str, str]:
        """Return environment variables for a command that uses this account and cannot reach another account."""
        return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def client(self, service: str) -> Any:
        """Return a boto3 client of a service, as the account's root."""
        session = boto3.Session("test", "test", region_name=REGION)
        client: Any = session.client(service, endpoint_url=self.endpoint_url)
        return client

    @property
    def account(self) -> str:
        """Return the account's number, for policies that trust its root."""
        number: str = self.client("sts").get_caller_identity()["Account"]
        return number

    def create_secret(self, name: str, value: Mapping[str, object]) -> str:
        """Store `value` as JSON in Secrets Manager and return the secret's ARN."""
        secret = self.client("secretsmanager").create_secret(Name=name, SecretString=json.dumps(value))
        arn: str = secret["ARN"]
        return arn

    def create_kubeconfigs(self, watcher: Mapping[str, object], binder: Mapping[str, object]) -> dict[str, str]:
        """Store the kubeconfigs and return the stack's parameters that name them."""
        return {
            "WatcherKubeconfigSecretArn": self.create_secret("watcher-kubeconfig", watcher),
            "BinderKubeconfigSecretArn": self.create_secret("binder-kubeconfig", binder),
        }

    def _variables(self) -> list[str]:
        variables = {
            "BIND_HOST": self._host,
            "GATEWAY_PORT": str(self._port),
            "TMPDIR": str(self._directory),
            "AUTH": "true",
            "LAMBDA_ACCOUNT_CONCURRENCY": str(CONCURRENT_EXECUTIONS),
            **NO_OTHER_LISTENERS,
        }
        return [f"{name}={value}" for name, value in variables.items()]

    def _check_addresses(self) -> None:
        pid = int((self._directory / f"ministack-{self._port}.pid").read_text())
        require_only_listener("ministack", pid, self._host)
