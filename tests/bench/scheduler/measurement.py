"""One run of a case: pods that wait at the API server, and how fast a scheduler that then starts binds them."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.bench.cluster import Manifest
from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.extenders import Servers
from tests.bench.scheduler.pod_watches import ON_A_NODE, BoundPods, PodVerdicts, Verdict, pod_events
from tests.bench.scheduler.results import Counted, Run, load, rate_of, today
from tests.bench.scheduler.workload import (
    ALL_SLOTS,
    Workload,
    counted_pod_manifest,
    overcommitted,
    pending_manifest,
    pod_manifest,
    ruled_pod_manifest,
)
from tests.e2e.berth.identities import counted_resources
from tests.e2e.kubernetes.cluster import DEFAULT_SCHEDULER
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.scheduler_configuration import (
    ExtenderConfiguration,
    SchedulerConfiguration,
    scheduler_configuration,
)

FIRST_SECONDS, BIND_SECONDS = 120.0, 30.0
"""How long the first pod may take, and how long is measured at most: a slow case binds fewer pods."""

MOST_COUNTED = ALL_SLOTS * 3 // 4
MORE_THAN_FULL = 16
"""After the measured pods of a counted case so many come that this many find no slot."""

FULL_SECONDS = 60.0
"""So long no pod took a slot and none was rejected: then the rest is not waited for."""

# With the defaults the scheduler's own client would be what is measured.
CLIENT = {"qps": 5000, "burst": 10000}


class Cluster:
    """A control plane of its own, with nodes and no pods, until the block ends."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            home = self._directory / "control-plane"
            home.mkdir()
            self._control_plane = undo.enter_context(ControlPlane(home))
            undo.enter_context(counted_resources(self._control_plane))
            self._workload = Workload(self._control_plane.credentials())
            self._servers = Servers(self._control_plane, self._directory)
            self._running = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def set_nodes(self, count: int) -> None:
        """The next runs have so many."""
        self._workload.set_nodes(count)

    def run(self, case: Case, nodes: int, number: int, pods: int) -> Run:
        """Measure once. It leaves no pods behind."""
        before, began = load(), time.monotonic()
        with ExitStack() as running:
            running.callback(self._workload.clear)
            extenders, counts = running.enter_context(self._servers.of(case, nodes))
            names = _scheduler_names(case)
            manifests = _manifests(case, names, pods, nodes)
            self._workload.create_pods([pending_manifest(each) for each in range(case.pending)])
            self._workload.create_pods(manifests)
            writes = _counts(counts)
            running.enter_context(self._workload.events(case.events))
            bound = running.enter_context(BoundPods(pod_events(self._control_plane.credentials(), ON_A_NODE)))
            for name in names:
                running.enter_context(self._control_plane.scheduler(_configuration(case, name, extenders)))
            end = bound.wait_for(len(manifests), FIRST_SECONDS, BIND_SECONDS)
            times = list(bound.times)
            counted = self._counted(case, counts, writes, names, len(manifests)) if case.extender.binds else None
        measured, seconds = rate_of(times, end)
        took = round(time.monotonic() - began, 1)
        return Run(
            case=case.name,
            nodes=nodes,
            number=number,
            pods=measured,
            seconds=round(seconds, 4),
            placed=len(times),
            load=before,
            counted=counted,
            took=took,
            asked=pods,
            date=today(),
        )

    def _counted(self, case: Case, counts: Path, before: Counter[str], names: list[str], created: int) -> Counted:
        time.sleep(1)  # the file is at most so old
        done = _counts(counts) - before
        is_counted = case.extender is Extender.BERTH_COUNTED
        verdicts = self._fill(names, created) if is_counted else Counter[Verdict]()
        on = Counter(
            pod["spec"]["nodeName"]
            for pod in self._workload.pods()
            if pod["spec"].get("nodeName") and pod["metadata"]["labels"].get("bench") == "measured"
        )
        return Counted(
            done["writes"],
            done["conflicts"],
            overcommitted(on) if is_counted else sum(pods > 1 for pods in on.values()),
            on.total() if is_counted else None,
            verdicts[Verdict.REJECTED] if is_counted else None,
        )

    def _fill(self, names: list[str], created: int) -> Counter[Verdict]:
        """Take every slot, with more pods than slots: a ledger is most likely to give too much where little is left.
        Returns when the scheduler has a verdict on each pod."""
        pods = ALL_SLOTS + MORE_THAN_FULL
        manifests = [counted_pod_manifest(number, names[number % len(names)]) for number in range(created, pods)]
        with PodVerdicts(pod_events(self._control_plane.credentials(), {})) as verdicts:
            self._workload.create_pods(manifests)
            return verdicts.wait_for(ALL_SLOTS, pods, FULL_SECONDS)


def _scheduler_names(case: Case) -> list[str]:
    if case.extender.binds:
        return [f"bench-{number}" for number in range(case.schedulers)]
    return [DEFAULT_SCHEDULER]


def _manifests(case: Case, names: list[str], pods: int, nodes: int) -> list[Manifest]:
    if case.extender is Extender.BERTH_COUNTED:
        numbers = range(min(pods, MOST_COUNTED))
        return [counted_pod_manifest(number, names[number % len(names)]) for number in numbers]
    if case.extender is Extender.BERTH_RULES:
        # One on a node: where few nodes are left, the time would be that of the back-off.
        return [ruled_pod_manifest(number, names[number % len(names)]) for number in range(min(pods, nodes // 2))]
    return [pod_manifest(number, case.pods) for number in range(pods)]


def _configuration(case: Case, name: str, extenders: list[ExtenderConfiguration]) -> SchedulerConfiguration:
    profile: dict[str, Any] = {"schedulerName": name}
    if case.pending:
        profile["plugins"] = {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}
    return scheduler_configuration(extenders) | {"profiles": [profile], "clientConnection": CLIENT}


def _counts(file: Path) -> Counter[str]:
    return Counter(json.loads(file.read_text()) if file.exists() else {})
