"""The deployed stack: a real `sam build` and `sam deploy` of template.yaml, into an account on this machine."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from tests.deployment import sam
from tests.deployment.emulator import Emulator
from tests.deployment.template import REQUIRED
from tests.e2e.kubernetes.scheduler_configuration import HTTP_TIMEOUT_SECONDS
from tools.local_stack.plugins import publish_plugins

from .berth_serve import COMMAND, OF_THE_CHART, SCHEDULER_NAMES
from .endpoint import Endpoint
from .identities import Identities

# The schedule starts the watcher once a minute, with a cold start.
SCHEDULE_SECONDS = 150
POLL_SECONDS = 1.0

COLD = "a cold start, or a slow table"


class DeployedStack:
    """Builds and deploys in `directory`, and serves the verbs until the context exits.

    The schedule of the stack starts the watcher within the first minute. The watcher then watches continuously.
    """

    def __init__(
        self,
        identities: Identities,
        directory: Path,
        parameters: Mapping[str, str] | None = None,
        *,
        plugins: Path | None = None,
    ) -> None:
        """plugins: directory of a user's plugins, which the functions get as a layer."""
        self._identities = identities
        self._plugins = plugins
        self._template: Path | None = None
        self._directory = directory
        self._parameters = parameters or {}
        self._emulator = Emulator(directory / "account")
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as cleanup:
            cleanup.enter_context(self._emulator)
            self._deploy()
            self._wait_until_healthy()
            self._wait_until_bind_is_warm()
            self._running = cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @cached_property
    def url_prefix(self) -> str:
        return self.url_prefix_with(*self.password())

    def url_prefix_with(self, username: str, password: str) -> str:
        """Return the API's address under a path of the emulator, with these credentials."""
        userinfo = f"{quote(username, safe='')}:{quote(password, safe='')}@"
        return self.url_prefix_without_credentials.replace("://", f"://{userinfo}")

    @cached_property
    def url_prefix_without_credentials(self) -> str:
        """Return a path of the emulator, because Go does not resolve the host name of the stack's output."""
        return f"{self._emulator.endpoint_url}/_aws/execute-api/{self._physical_id('Api')}/$default/scheduler"

    def apply(self, document: str) -> None:
        """Apply this BerthConfiguration with the CLI, which waits until every verb uses it."""
        file = self._directory / "berth.yaml"
        file.write_text(document)
        subprocess.run(
            [COMMAND, "config", "apply", file, "--stack", sam.STACK_NAME],
            env=self._emulator.environment(),
            check=True,
            capture_output=True,
        )

    def environment(self) -> dict[str, str]:
        """Return environment variables for a command that calls the stack's account."""
        return self._emulator.environment()

    def client(self, service: str) -> Any:
        """Return a boto3 client of the stack's account, as its root user."""
        return self._emulator.client(service)

    def name(self, logical_id: str) -> str:
        """Return the physical id of a resource of the stack."""
        return self._physical_id(logical_id)

    @property
    def account_directory(self) -> Path:
        return self._directory / "account"

    @property
    def schedule(self) -> str:
        """Return the name of the schedule that starts the watcher."""
        return self._physical_id("WatcherFunctionEveryMinute")

    def password(self) -> tuple[str, str]:
        """Return the current user name and password in the stack's secret."""
        found = self._emulator.client("secretsmanager").get_secret_value(SecretId=self._password_secret)
        record = json.loads(found["SecretString"])
        return record["username"], record["password"]

    def logged(self) -> str:
        logs, group = self._emulator.client("logs"), f"/aws/lambda/{sam.STACK_NAME}-functions"
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return "\n".join(event["message"] for page in pages for event in page["events"])

    @cached_property
    def _password_secret(self) -> str:
        return self._physical_id("PasswordSecret")

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + SCHEDULE_SECONDS
        api = Endpoint(self.url_prefix.removesuffix("/scheduler"))
        while (answer := api.get("healthz")).status != 200:
            assert time.monotonic() < deadline, f"after {SCHEDULE_SECONDS} s: {answer.status} {answer.data!r}"
            time.sleep(POLL_SECONDS)

    def _wait_until_bind_is_warm(self) -> None:
        """Wait, because on the emulator a cold bind exceeds its time limit, so the scheduler would call bind again."""
        deadline = time.monotonic() + SCHEDULE_SECONDS
        request = json.dumps({"PodName": "probe", "PodNamespace": "default", "PodUID": "probe", "Node": "probe"})
        while COLD in (text := Endpoint(self.url_prefix).post("bind", request.encode()).data.decode()):
            assert time.monotonic() < deadline, f"after {SCHEDULE_SECONDS} s: {text}"
            time.sleep(POLL_SECONDS)

    def _deploy(self) -> None:
        machine = sam.Machine.this()
        self._template = sam.build(self._directory / "build", machine)
        parameters = {
            **self._emulator.create_kubeconfigs(
                watcher=self._identities.watcher.kubeconfig(), binder=self._identities.binder.kubeconfig()
            ),
            **REQUIRED,
            "HttpTimeoutSeconds": str(HTTP_TIMEOUT_SECONDS),
            # The parameter has room for 80 characters, and the chart runs without a stack.
            "SchedulerNames": ",".join(name for name in SCHEDULER_NAMES if name != OF_THE_CHART),
            **machine.parameters,
            **({} if self._plugins is None else self._publish(self._plugins)),
            **self._parameters,
        }
        sam.deploy(self._template, parameters, self._emulator.environment())

    def _publish(self, plugins: Path) -> Mapping[str, str]:
        return publish_plugins(self._emulator.client("lambda"), plugins, self._directory)

    def _physical_id(self, logical_id: str) -> str:
        resource = self._emulator.client("cloudformation").describe_stack_resource(
            StackName=sam.STACK_NAME, LogicalResourceId=logical_id
        )
        physical_id: str = resource["StackResourceDetail"]["PhysicalResourceId"]
        return physical_id
