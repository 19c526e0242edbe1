"""The extenders of the cases as running servers, and their entries in the scheduler's configuration."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import SIGINT
from socket import create_connection
from typing import Any

from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.workload import COUNTED, COUNTED_NODES, node_manifest
from tests.e2e.berth.endpoint import Endpoint
from tests.e2e.berth.identities import serve
from tests.e2e.berth.label_priority import LABEL
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.e2e.kubernetes.control_plane import KUBERNETES, ControlPlane
from tests.e2e.kubernetes.loopback import HOST, free_port
from tests.e2e.kubernetes.scheduler_configuration import ExtenderConfiguration, Mode

DOCUMENTS = {
    Extender.BERTH: "profile: label-priority",
    Extender.BERTH_ONLYONE: "profile: label-priority",
    Extender.BERTH_BIND: "profile: label-priority",
    Extender.BERTH_FULL: "profile: full",
    Extender.BERTH_COUNTED: f"profile: managed-resources\nmanagedResources:\n  - name: {COUNTED}",
    Extender.BERTH_RULES: "profile: full",
}
PEER = Path(__file__).parents[3] / ".build" / f"bench-peer-{KUBERNETES}"
START_SECONDS = 90
POLL_SECONDS = 0.2
READY_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Running:
    """An extender: its entry in the scheduler's configuration, and its process."""

    configuration: Sequence[ExtenderConfiguration]
    pid: int


class Servers:
    """Starts the servers that a case needs, on existing nodes."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._control_plane = control_plane
        self._directory = directory
        self._started = 0

    @contextmanager
    def of(self, case: Case, nodes: int) -> Iterator[Running]:
        self._started += 1
        folder = self._directory / f"{self._started}-{case.name}"
        folder.mkdir()
        with ExitStack() as running:
            url, pid = self._start(case, nodes, folder, running)
            yield Running([_configuration(case, url)] if url else [], pid)

    def _start(self, case: Case, nodes: int, folder: Path, running: ExitStack) -> tuple[str, int]:
        """Return the extender's urlPrefix and its process id; empty and 0 without an extender."""
        names = [node_manifest(index)["metadata"] for index in range(nodes)]
        labelled = {each["name"]: int(each["labels"][LABEL]) for each in names if LABEL in each["labels"]}
        if case.extender is Extender.NONE:
            return "", 0
        if case.extender.is_go:
            found = self._go(folder, running)
            _wait_for_nodes(found[0], case, [each["name"] for each in names], set(labelled))
            return found
        document = f"apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n{DOCUMENTS[case.extender]}\n"
        options: dict[str, Any] = {"document": document}
        if case.extender.has_conflicts:
            options["options"] = [f"--scheduler-name={name}" for name in case.scheduler_names]
        if case.extender is Extender.BERTH_COUNTED:
            # Berth is stopped, not killed, so that it releases its ledger's Lease: the next run need not wait for it.
            berth = running.enter_context(serve(self._control_plane, folder, is_healthy=False, **options))
            _wait(lambda: _ledgers(berth.url_prefix) >= COUNTED_NODES, case)
            return berth.url_prefix, berth.pid
        berth = running.enter_context(serve(self._control_plane, folder, **options))
        running.callback(berth.kill)  # even with calls in flight: on a busy machine a clean end takes long
        # The profile full does not reject any node of an empty cluster.
        full = case.extender in (Extender.BERTH_FULL, Extender.BERTH_RULES)
        _wait_for_nodes(berth.url_prefix, case, [each["name"] for each in names], None if full else set(labelled))
        return berth.url_prefix, berth.pid

    def _go(self, folder: Path, running: ExitStack) -> tuple[str, int]:
        address = f"{HOST}:{free_port()}"
        identity = self._control_plane.kubeconfig()
        process = ChildProcess(
            [PEER, f"--kubeconfig={identity}", f"--listen={address}", f"--label={LABEL}"], folder / "peer.log"
        )
        running.callback(process.stop, SIGINT)
        process.wait_until(partial(_listens, address), seconds=START_SECONDS)
        return f"http://{address}", process.pid


def _configuration(case: Case, url: str) -> ExtenderConfiguration:
    return ExtenderConfiguration(
        url_prefix=url,
        filter_verb="filter_onlyone" if case.extender.passes_one else "filter",
        prioritize_verb=None if case.extender.passes_one else "prioritize",
        bind_verb="bind" if case.extender.binds else None,
        mode=Mode.CACHE,
        managed_resources=(COUNTED,) if case.extender is Extender.BERTH_COUNTED else (),
        http_timeout="30s",  # long enough for a busy machine
    )


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _wait_for_nodes(url: str, case: Case, names: list[str], passed: set[str] | None) -> None:
    """Wait until the extender has read the cluster, and make a few more calls to warm it up.

    passed: names of the nodes that pass filter; None for all.
    """
    endpoint, probe = Endpoint(url), {"metadata": {"name": "probe", "namespace": "default", "uid": "probe"}, "spec": {}}
    body = json.dumps({"Pod": probe, "Nodes": None, "NodeNames": names}).encode()

    def passes() -> bool:
        answer = endpoint.post("filter", body)
        return answer.status == 200 and set(answer.json().get("NodeNames") or ()) == (passed or set(names))

    for _ in range(READY_ROUNDS):
        _wait(passes, case)


def _wait(ready: Callable[[], bool], case: Case) -> None:
    until = time.monotonic() + START_SECONDS
    while not ready():
        if time.monotonic() > until:
            raise TimeoutError(f"{case.name} is not ready after {START_SECONDS} s")
        time.sleep(POLL_SECONDS)


def _ledgers(url: str) -> int:
    """Return the number of nodes on which bind can reserve."""
    nodes = Endpoint(url.removesuffix("/scheduler")).get("reservations").json().get("nodes") or ()
    return sum(each["available"] is not None for each in nodes)
