"""The deployed stack: a real `sam build` and `sam deploy` of template.yaml, into an account on this machine."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

import urllib3

from tests.deployment import sam
from tests.deployment.emulator import Emulator

from .kubernetes_api import Credentials

# Every minute, anywhere within it; and a cold start.
SCHEDULE_SECONDS = 150
POLL_SECONDS = 1.0


class DeployedStack:
    """Builds and deploys in `directory`, and serves the verbs until it is left.

    The watcher is started by the stack's own schedule, as in the cloud: within the first minute, and it then watches
    continuously.
    """

    def __init__(self, credentials: Credentials, directory: Path, parameters: Mapping[str, str] | None = None) -> None:
        self._kubeconfig = _kubeconfig(credentials)
        self._directory = directory
        self._parameters = parameters or {}
        self._emulator = Emulator(directory / "account")
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self._emulator)
            self._deploy()
            self._wait_until_the_schedule_has_started_the_watcher()
            self._running = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    @cached_property
    def url_prefix(self) -> str:
        """The API under a path of the emulator. The stack's own output has a host name, which Go does not resolve."""
        return f"{self._emulator.endpoint_url}/_aws/execute-api/{self._physical_id('Api')}/$default/scheduler"

    def _wait_until_the_schedule_has_started_the_watcher(self) -> None:
        deadline = time.monotonic() + SCHEDULE_SECONDS
        healthz = f"{self.url_prefix.removesuffix('/scheduler')}/healthz"
        while (answer := urllib3.request("GET", healthz, retries=False)).status != 200:
            assert time.monotonic() < deadline, f"after {SCHEDULE_SECONDS} s: {answer.status} {answer.data!r}"
            time.sleep(POLL_SECONDS)

    def _deploy(self) -> None:
        machine = sam.Machine.this()
        template = sam.build(self._directory / "build", machine)
        parameters = {
            "KubeconfigSecretArn": self._emulator.create_secret("kubeconfig", self._kubeconfig),
            "AuthorizationType": "NONE",
            **machine.parameters,
            **self._parameters,
        }
        sam.deploy(template, parameters, self._emulator.environment())

    def _physical_id(self, logical_id: str) -> str:
        resource = self._emulator.client("cloudformation").describe_stack_resource(
            StackName=sam.STACK_NAME, LogicalResourceId=logical_id
        )
        physical_id: str = resource["StackResourceDetail"]["PhysicalResourceId"]
        return physical_id


def _kubeconfig(credentials: Credentials) -> dict[str, object]:
    """With the certificate authority inside: a secret has no files beside it."""
    authority = b64encode(Path(credentials.ca_file).read_bytes()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "e2e",
                "cluster": {"server": credentials.server, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "berth", "user": {"token": credentials.token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "berth"}}],
        "current-context": "e2e",
    }
