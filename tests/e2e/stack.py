"""The deployed stack: a real `sam build` and `sam deploy` of template.yaml, into an account on this machine."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tests.deployment import sam
from tests.deployment.emulator import Emulator

from .kubernetes_api import Credentials

WATCH_SECONDS = 1.0
FAILED = "failure-"


class WatcherFailed(Exception):
    """The watcher function raised, or could not do its work."""


class DeployedStack:
    """Builds and deploys in `directory`, and serves the verbs until it is left.

    The schedule starts the watcher every minute, as in the cloud. So that a test need not wait for that, it is started
    every second besides.
    """

    def __init__(self, credentials: Credentials, directory: Path, parameters: Mapping[str, str] | None = None) -> None:
        self._kubeconfig = _kubeconfig(credentials)
        self._directory = directory
        self._parameters = parameters or {}
        self._emulator = Emulator(directory / "account")
        self._running = ExitStack()
        self._left = threading.Event()
        self._watching = threading.Thread(target=self._watch_until_left)
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self._emulator)
            self._deploy()
            self._watching.start()
            undo.callback(self._watching.join)
            undo.callback(self._left.set)
            self._running = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
        if self._failure is not None:
            raise self._failure

    @cached_property
    def url_prefix(self) -> str:
        """The API under a path of the emulator. The stack's own output has a host name, which Go does not resolve."""
        return f"{self._emulator.endpoint_url}/_aws/execute-api/{self._physical_id('Api')}/$default/scheduler"

    def watch(self) -> dict[str, Any]:
        """Start the watcher by its alias, as the schedule does, and return what it did."""
        answer = self._lambda.invoke(FunctionName=self._watcher, Qualifier="live", Payload=b"{}")
        done: dict[str, Any] = json.load(answer["Payload"])
        if "FunctionError" in answer or done["outcome"].startswith(FAILED):
            raise WatcherFailed(json.dumps(done))
        return done

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

    def _watch_until_left(self) -> None:
        try:
            while not self._left.wait(WATCH_SECONDS):
                self.watch()
        except Exception as error:
            self._failure = error  # told when the stack is left; until then its data grows old, as in the cloud

    @cached_property
    def _lambda(self) -> Any:
        return self._emulator.client("lambda")

    @cached_property
    def _watcher(self) -> str:
        return self._physical_id("WatcherFunction")

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
