"""Places pods with a real kube-scheduler that calls the stack."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from berth.cluster.api_server import kubeconfig as kubeconfigs
from berth.cluster.api_server.client import ApiServer
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import BINARY as BUILT_SCHEDULER
from tools.acceptance.report import StepFailed

SCHEDULER_NAME = "berth-acceptance"
IMAGE = "registry.k8s.io/pause:3.10"
WAIT_SECONDS, CALL_SECONDS, POLL_SECONDS = 120, 10.0, 0.02


def scheduler_command(given: str | None) -> list[str]:
    """Return the given command, else the scheduler that `make e2e` built, else kube-scheduler from the PATH."""
    if given:
        return shlex.split(given)
    return [str(BUILT_SCHEDULER), "kube-scheduler"] if BUILT_SCHEDULER.exists() else ["kube-scheduler"]


def scheduler_configuration(document: Mapping[str, Any], kubeconfig: Path) -> dict[str, Any]:
    """Change the output of `berth scheduler-config` for a scheduler named SCHEDULER_NAME on this machine."""
    changed: dict[str, Any] = json.loads(json.dumps(document))
    changed["leaderElection"] = {"leaderElect": False}
    changed["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    for profile in changed.setdefault("profiles", [{}]):
        profile["schedulerName"] = SCHEDULER_NAME
    return changed


@dataclass(frozen=True, slots=True)
class Placement:
    api: ApiServer
    namespace: str
    scheduler: ChildProcess
    log: Path

    def create(self, name: str, **annotations: str) -> None:
        _request(self.api, "POST", f"/api/v1/namespaces/{self.namespace}/pods", _pod(name, annotations))

    def wait(self, name: str, started: float) -> float:
        """Wait until the pod is on a node. Returns the seconds since `started`. Raises StepFailed."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{name}"
        while not (pod := _request(self.api, "GET", path))["spec"].get("nodeName"):
            if time.monotonic() - started > WAIT_SECONDS:
                raise StepFailed(f"{name} was not placed within {WAIT_SECONDS} s", _why(pod, self.log))
            time.sleep(POLL_SECONDS)
        return time.monotonic() - started

    def place(self, pods: int) -> list[str]:
        """Place pods one after another. Returns lines for the report."""
        seconds = []
        for number in range(pods):
            started = time.monotonic()
            self.create(f"pod-{number}")
            seconds.append(self.wait(f"pod-{number}", started))
        middle, last = sorted(seconds)[pods // 2], max(seconds)
        return [f"{pods} pods, one after another: {middle:.2f} s from creation to node (median), {last:.2f} s at most."]

    def place_gang(self, size: int) -> list[str]:
        """Place a gang of `size` members, all or none. Returns lines for the report."""
        started = time.monotonic()
        for number in range(size):
            self.create(f"member-{number}", **{"berth.dev/gang": "train", "berth.dev/gang-size": str(size)})
        last = max(self.wait(f"member-{number}", started) for number in range(size))
        return [f"A gang of {size} members: {last:.2f} s from the first creation to the last node."]


@contextmanager
def placing(
    command: Sequence[str], configuration: Mapping[str, Any], kubeconfig: Path, folder: Path
) -> Iterator[Placement]:
    """Run the scheduler until the block ends, then delete the namespace with its pods. Raises StepFailed."""
    if shutil.which(command[0]) is None:
        raise StepFailed(f"{command[0]} is not there; name it with SCHEDULER=")
    api = ApiServer(kubeconfigs.from_file(kubeconfig), time.monotonic)
    file = folder / "scheduler.json"
    file.write_text(json.dumps(configuration))
    log = folder / "kube-scheduler.log"
    with _namespace(api) as namespace:
        process = ChildProcess([*command, f"--config={file}", "--secure-port=0", "-v=2"], log)
        try:
            yield Placement(api, namespace, process, log)
        finally:
            process.stop()


def _request(api: ApiServer, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, Any]:
    answer = api.request(method, path, body=body, timeout=CALL_SECONDS)
    if not answer.ok:
        raise StepFailed(f"{method} {path}: {answer.message}")
    return answer.content


def _why(pod: Mapping[str, Any], log: Path) -> list[str]:
    conditions = pod.get("status", {}).get("conditions", ())
    messages = [f"{each.get('reason')}: {each['message']}" for each in conditions if each.get("message")]
    return [*messages, "```text", *log.read_text(errors="replace").splitlines()[-15:], "```"]


def _pod(name: str, annotations: Mapping[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": dict(annotations)},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pause", "image": IMAGE}],
        },
    }


@contextmanager
def _namespace(api: ApiServer) -> Iterator[str]:
    name = f"berth-acceptance-{uuid4().hex[:8]}"
    _request(api, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    try:
        yield name
    finally:
        _request(api, "DELETE", f"{path}/pods", {"gracePeriodSeconds": 0})
        _request(api, "DELETE", path)
