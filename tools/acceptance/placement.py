"""Pods placed by a real kube-scheduler that calls the stack."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from berth.cluster.api_server import kubeconfig as kubeconfigs
from berth.cluster.api_server.client import ApiServer
from tests.e2e.kubernetes.control_plane import BINARY
from tools.acceptance.run import StepFailed

BUILT_SCHEDULER = BINARY
SCHEDULER_NAME = "berth-acceptance"
IMAGE = "registry.k8s.io/pause:3.10"
WAIT_SECONDS = 120
END_SECONDS = 20
SHOWN_LINES = 15
CALL_SECONDS = 10.0
POLL_SECONDS = 0.02


def scheduler_command(given: str | None) -> list[str]:
    """The one that is given, else what `make e2e` built, else the one on the PATH."""
    if given:
        return shlex.split(given)
    return [str(BUILT_SCHEDULER), "kube-scheduler"] if BUILT_SCHEDULER.exists() else ["kube-scheduler"]


def scheduler_configuration(document: Mapping[str, Any], kubeconfig: Path, url: str | None) -> dict[str, Any]:
    """The output of `berth scheduler-config`, for a scheduler of its own name that runs here."""
    changed = json.loads(json.dumps(document))
    changed["leaderElection"] = {"leaderElect": False}
    changed["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    for profile in changed.setdefault("profiles", [{}]):
        profile["schedulerName"] = SCHEDULER_NAME
    for extender in changed["extenders"] if url else ():
        extender["urlPrefix"] = url
    return dict(changed)


def place(
    command: Sequence[str], configuration: Mapping[str, Any], kubeconfig: Path, pods: int, folder: Path
) -> list[str]:
    """Run the scheduler, place `pods` pods and delete them. Returns lines for the report. Raises StepFailed."""
    api = Cluster(kubeconfig)
    file = folder / "scheduler.json"
    file.touch(mode=0o600)  # a password may be in it
    file.write_text(json.dumps(configuration))
    log = folder / "kube-scheduler.log"
    with _namespace(api) as namespace, _running([*command, f"--config={file}", "--secure-port=0", "-v=2"], log):
        seconds = sorted(_place(api, namespace, pods, log))
    middle, last = seconds[len(seconds) // 2], seconds[-1]
    return [f"{pods} pods, one after another: {middle:.2f} s from creation to node (median), {last:.2f} s at most."]


class Cluster:
    """The few calls that pods need, as the user of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._api = ApiServer(kubeconfigs.from_file(kubeconfig), time.monotonic)

    def request(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, Any]:
        """Raises StepFailed with the API server's message."""
        answer = self._api.request(method, path, body=body, timeout=CALL_SECONDS)
        if not answer.ok:
            raise StepFailed(f"{method} {path}: {answer.message}")
        return answer.content


def _place(api: Cluster, namespace: str, pods: int, log: Path) -> list[float]:
    """Seconds from creation to binding."""
    found: list[float] = []
    for number in range(pods):
        started = time.monotonic()
        api.request("POST", f"/api/v1/namespaces/{namespace}/pods", _pod(f"pod-{number}"))
        path = f"/api/v1/namespaces/{namespace}/pods/pod-{number}"
        while not (pod := api.request("GET", path))["spec"].get("nodeName"):
            if time.monotonic() - started > WAIT_SECONDS:
                raise StepFailed(f"pod-{number} was not placed within {WAIT_SECONDS} s", _why(pod, log))
            time.sleep(POLL_SECONDS)
        found.append(time.monotonic() - started)
    return found


def _why(pod: Mapping[str, Any], log: Path) -> list[str]:
    conditions = pod.get("status", {}).get("conditions", ())
    messages = [f"{each.get('reason')}: {each['message']}" for each in conditions if each.get("message")]
    return [*messages, "```text", *log.read_text(errors="replace").splitlines()[-SHOWN_LINES:], "```"]


def _pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "pause", "image": IMAGE}],
        },
    }


@contextmanager
def _namespace(api: Cluster) -> Iterator[str]:
    name = f"berth-acceptance-{uuid4().hex[:8]}"
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    try:
        yield name
    finally:
        api.request("DELETE", f"{path}/pods", {"gracePeriodSeconds": 0})
        api.request("DELETE", path)


@contextmanager
def _running(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        except OSError as error:
            raise StepFailed(f"{command[0]} cannot be run: {error.strerror}; name it with SCHEDULER=") from error
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
