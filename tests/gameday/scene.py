"""The deployed stack with mutual TLS in the emulator, its cluster, a scheduler, changing pods, and the metrics that the
functions log and the gateway counts."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from signal import SIGKILL
from threading import Event, Thread
from typing import Any, Self

import urllib3

from berth_cli.installation.certificate_directory import IssuedCertificate
from tests.chaos.faulty_proxy import FaultyProxy
from tests.deployment import sam
from tests.deployment.alarms import Alarm, Metrics, alarms
from tests.deployment.mutual_tls_gateway import MutualTLSGateway
from tests.deployment.template import Deployment, read_template
from tests.e2e.berth.berth_serve import COMMAND, CONFIGURATION
from tests.e2e.berth.doctor import Diagnosis, berth_doctor
from tests.e2e.berth.identities import Identities, identities
from tests.e2e.berth.label_priority import priority
from tests.e2e.berth.stack import DeployedStack
from tests.e2e.gangs.members import wait_until
from tests.e2e.kubernetes.cluster import ready_node
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi
from tests.e2e.kubernetes.scheduler_configuration import (
    ClientTLS,
    SchedulerConfiguration,
    filter_prioritize_bind,
    scheduler_configuration,
)

HTTP_TIMEOUT_SECONDS = 30
NODES = 3
POD_SECONDS = 5.0
MAX_PENDING = 3
RESOURCES = {"cpu": "64", "memory": "64Gi"}
VERBS = ("filter", "prioritize", "bind", "preempt")
CALL_SECONDS = 60.0
READY_SECONDS = 240.0
PODS = "/api/v1/namespaces/default/pods"
API = "api"


class MutualTLSStack(DeployedStack):
    def __init__(self, users: Identities, directory: Path) -> None:
        super().__init__(users, directory, {"HttpTimeoutSeconds": str(HTTP_TIMEOUT_SECONDS)})
        self.gateway: MutualTLSGateway

    def deploy(self, **parameters: str) -> None:
        """Deploy the built stack again, with additional parameters."""
        assert self._template is not None
        sam.deploy(self._template, {**sam.deployed_parameters(self._template), **parameters}, self.environment())

    def allow(self) -> None:
        subprocess.run(
            [
                COMMAND,
                "certificates",
                "allow",
                f"--stack={sam.STACK_NAME}",
                f"--directory={self.gateway.directory.path}",
            ],
            env=self.environment(),
            check=True,
            capture_output=True,
        )

    def call(self, method: str, path: str, body: bytes | None = None) -> int:
        """Call the API through the gateway. Returns the status; 0 without a response."""
        certificate, key = map(str, self.gateway.directory.files(self.gateway.client))
        with urllib3.PoolManager(
            ca_certs=str(self.gateway.certificate), cert_file=certificate, key_file=key, retries=False
        ) as pool:
            try:
                return pool.request(method, f"{self.gateway.url}/{path}", body=body, timeout=CALL_SECONDS).status
            except urllib3.exceptions.HTTPError:
                return 0

    def _deploy(self) -> None:
        self.gateway = MutualTLSGateway(self._emulator, self._directory)
        self._parameters = {**self._parameters, **self.gateway.parameters()}
        super()._deploy()

    def _wait_until_healthy(self) -> None:
        """Do not wait: the scene waits after the allow-list is written."""

    def _wait_until_bind_is_warm(self) -> None:
        """Do not wait: the scene waits for every verb."""


class Scene:
    """Runs the whole scene until the block ends. All files are below `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.metrics = Metrics()
        self._running = ExitStack()
        self._scheduler = ExitStack()
        self._read, self._answers_read = 0, 0
        self._ends = Event()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            self._start(undo)
            self._running = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self, running: ExitStack) -> None:
        (self.directory / "control-plane").mkdir()
        (self.directory / "stack").mkdir()
        self.control_plane = running.enter_context(ControlPlane(self.directory / "control-plane"))
        self.credentials = self.control_plane.credentials()
        self.api = KubernetesApi(self.credentials)
        self.api_proxy = running.enter_context(
            FaultyProxy(
                self.credentials.server, ca_file=self.credentials.ca_file, own=self.control_plane.serving_certificate()
            )
        )
        for number in range(NODES):
            self.api.create("/api/v1/nodes", ready_node(f"node-{number}", priority(number + 1), RESOURCES))
        moved = identities(self.control_plane).through(self.api_proxy.url)
        self.stack = running.enter_context(MutualTLSStack(moved, self.directory / "stack"))
        self.gateway = running.enter_context(self.stack.gateway)
        self.stack.allow()
        wait_until("the stack is healthy", self.is_healthy, READY_SECONDS, poll=1)
        for verb in VERBS:  # a busy machine starts functions slowly, and the account takes few concurrent calls
            wait_until(verb, partial(self._answers, verb), READY_SECONDS, poll=1)
        self.stack.apply(CONFIGURATION)
        running.callback(self._scheduler.close)
        self.start_scheduler(self.gateway.client)
        thread = Thread(target=self._create_pods, name="pods", daemon=True)
        thread.start()
        running.callback(thread.join, 10)
        running.callback(self._ends.set)

    def _answers(self, verb: str) -> bool:
        return self.stack.call("POST", f"scheduler/{verb}", b"{}") not in (0, 429, 502)

    def is_healthy(self) -> bool:
        return self.stack.call("GET", "healthz") == 200

    @cached_property
    def alarms(self) -> Mapping[str, Alarm]:
        """Return the alarms of the stack."""
        deployed = Deployment(read_template(), **self.gateway.parameters()).resources("AWS::CloudWatch::Alarm")
        return alarms(deployed, {"AWS::StackName": sam.STACK_NAME, "Api": API})

    def collect(self) -> None:
        """Add the metrics that were logged and counted since the last call."""
        log = self.stack.account_directory / "functions.log"
        with log.open("rb") as file:
            file.seek(self._read)
            found = file.read()
        whole = found[: found.rfind(b"\n") + 1]
        self._read += len(whole)
        for each in whole.splitlines():
            with suppress(ValueError):
                line = json.loads(json.loads(each)["line"])
                if isinstance(line, dict):
                    self.metrics.add_line(line)
        answers = self.gateway.answers[self._answers_read :]
        self._answers_read += len(answers)
        for at, status in answers:
            for name, counts in (("Count", 1), ("4xx", status // 100 == 4), ("5xx", status // 100 == 5)):
                self.metrics.add("AWS/ApiGateway", name, {"ApiId": API}, at, [float(counts)])

    def placed_since(self, at: float) -> bool:
        """Return whether a pod that was created since `at`, in seconds since the epoch, is on a node."""
        pods = self.api.get(PODS)["items"]
        return any(each["spec"].get("nodeName") and float(each["metadata"]["labels"]["at"]) >= at for each in pods)

    @cached_property
    def known(self) -> Mapping[str, str]:
        """Return the warnings before the first fault: the scheduler of the tests does not use leader election."""
        diagnosis = self._doctor()
        assert diagnosis.exit_status == 0, f"before the first fault: {diagnosis.bad}"
        return diagnosis.bad

    def doctor(self) -> Mapping[str, str]:
        return {check: message for check, message in self._doctor().bad.items() if check not in self.known}

    def _doctor(self) -> Diagnosis:
        """Run doctor as an operator does, with the scheduler's configuration."""
        return berth_doctor(
            f"--stack={sam.STACK_NAME}",
            f"--url={self.gateway.url_prefix}",
            f"--scheduler-config={self.scheduler_file}",
            f"--kubeconfig={self.control_plane.kubeconfig()}",
            f"--timeout={HTTP_TIMEOUT_SECONDS}",
            environment=self.stack.environment(),
        )

    @property
    def scheduler_file(self) -> Path:
        return self.directory / "scheduler.json"

    def start_scheduler(self, client: IssuedCertificate) -> None:
        """Start kube-scheduler with this certificate, and replace the running one."""
        self.stop_scheduler()
        document = self._scheduler_configuration(client)
        self.scheduler_file.write_text(json.dumps(document))
        self._scheduler.enter_context(self.control_plane.scheduler(document))

    def stop_scheduler(self) -> None:
        self._scheduler.close()

    def _scheduler_configuration(self, client: IssuedCertificate) -> SchedulerConfiguration:
        certificate, key = self.gateway.directory.files(client)
        tls = ClientTLS(ca_file=self.gateway.certificate, certificate=certificate, key=key)
        extender = replace(
            filter_prioritize_bind(self.gateway.url_prefix), tls=tls, http_timeout=f"{HTTP_TIMEOUT_SECONDS}s"
        )
        return scheduler_configuration([extender]) | {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 5}

    def set_clock(self, function: str, seconds: float) -> None:
        """Set the wall clock of a function's environments ahead by this time."""
        file = self.stack.account_directory / f"clock-{self.stack.name(function)}"
        part = file.with_suffix(".part")
        part.write_text(str(seconds))
        part.replace(file)

    @contextmanager
    def throttled(self, table: str) -> Iterator[None]:
        """Throttle all calls of a table until the block ends."""
        file = self.stack.account_directory / "throttled"
        file.write_text(self.stack.name(table))
        try:
            yield
        finally:
            file.unlink()

    def kill(self, *functions: str) -> int:
        """Kill the environments of these functions with SIGKILL. Returns the number of environments."""
        names = {self.stack.name(each) for each in functions}
        found = [pid for pid, name in _environments(self.stack.account_directory) if name in names]
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, SIGKILL)
        return len(found)

    def _create_pods(self) -> None:
        """Create a pod every few seconds, unless too many wait, and delete all but the last few placed pods."""
        api, number = KubernetesApi(self.credentials), 0
        while not self._ends.wait(POD_SECONDS):
            with suppress(ApiError, urllib3.exceptions.HTTPError):
                pods = api.get(PODS)["items"]
                placed = [each for each in pods if each["spec"].get("nodeName")]
                for each in placed[: -MAX_PENDING or None]:
                    api.delete(f"{PODS}/{each['metadata']['name']}", {"gracePeriodSeconds": "0"})
                if len(pods) - len(placed) < MAX_PENDING:
                    number += 1
                    api.create(PODS, _pod(f"pod-{number}", time.time()))


def _environments(account: Path) -> Iterator[tuple[int, str]]:
    """Yield the processes of the functions of this account, with the function's name."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with suppress(OSError):
            words = (process / "environ").read_bytes().split(b"\0")
            variables = dict(word.decode(errors="replace").partition("=")[::2] for word in words)
            if variables.get("TMPDIR") == str(account) and "AWS_LAMBDA_FUNCTION_NAME" in variables:
                yield int(process.name), variables["AWS_LAMBDA_FUNCTION_NAME"]


def _pod(name: str, at: float) -> JsonObject:
    container: dict[str, Any] = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "1m"}}}
    return {
        "metadata": {"name": name, "labels": {"at": f"{at:.0f}"}},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
    }
