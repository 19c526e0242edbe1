"""A run of a case: pods wait at the API server, and a scheduler that starts then binds them as fast as it can."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any, Self

import urllib3

from tests.bench.cluster import Manifest
from tests.bench.process import usage
from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.extenders import Servers
from tests.bench.scheduler.workload import (
    MAX_COUNTED,
    PODS_PATH,
    Workload,
    counted_pod_manifest,
    overcommitted,
    pod_manifest,
    ruled_pod_manifest,
)
from tests.e2e.berth.identities import counted_resources
from tests.e2e.kubernetes.cluster import DEFAULT_SCHEDULER
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import ApiError, JsonObject, KubernetesApi
from tests.e2e.kubernetes.scheduler_configuration import scheduler_configuration

FIRST_SECONDS, BIND_SECONDS = 120.0, 30.0
"""The longest wait for the first pod, and the longest measurement, in seconds: a slow case binds fewer pods."""

WARM_UP = 0.1
"""Share of the pods that are bound first and only serve as a warm-up."""

# With the defaults, the scheduler's own client would limit the rate.
CLIENT = {"qps": 5000, "burst": 10000}
WATCH_SECONDS = 3600
# Watch from the API server's cache: a busy API server refuses to begin a watch at the newest state.
WATCHED = {"labelSelector": "bench=measured", "resourceVersion": "0", "fieldSelector": "spec.nodeName!="}


@dataclass(frozen=True, slots=True)
class Run:
    """A measurement. `load`: the load average of a minute when it began. `milliseconds`, `switches`: the extender's
    processor time and voluntary context switches per pod. `is_stalled`: not all pods were bound in time.
    `overcommitted`: number of nodes with too much of the counted resource, or with several pods that exclude each
    other."""

    case: str
    nodes: int
    pods: int
    rate: float
    load: float
    milliseconds: float
    switches: float
    is_stalled: bool
    overcommitted: int = 0


class Cluster:
    """Runs a separate control plane with nodes and without pods, until the block ends."""

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

    def run(self, case: Case, nodes: int, pods: int, percentage: int) -> Run:
        """Measure once, and delete all pods. percentage: percentageOfNodesToScore; 0 for the default."""
        self._workload.set_nodes(nodes)
        load = round(os.getloadavg()[0], 2)
        with ExitStack() as running:
            running.callback(self._workload.clear)
            extender = running.enter_context(self._servers.of(case, nodes))
            names = case.scheduler_names if case.extender.has_conflicts else [DEFAULT_SCHEDULER]
            manifests = _manifests(case, names, pods, nodes)
            self._workload.create_pods(manifests)
            used = usage(extender.pid)
            events = KubernetesApi(self._control_plane.credentials()).watch(PODS_PATH, WATCHED, seconds=WATCH_SECONDS)
            bound = running.enter_context(BoundPods(events))
            for name in names:
                own: dict[str, Any] = {
                    "profiles": [{"schedulerName": name}],
                    "clientConnection": CLIENT,
                    "percentageOfNodesToScore": percentage,
                }
                document = scheduler_configuration(extender.configuration) | own
                running.enter_context(self._control_plane.scheduler(document))
            end = bound.wait_for(len(manifests), FIRST_SECONDS, BIND_SECONDS)
            milliseconds, switches = (
                round((after - started) / len(bound.times), 2)
                for after, started in zip(usage(extender.pid), used, strict=True)
            )
            rate = round(rate_of(list(bound.times), end), 1)
            run = Run(case.name, nodes, len(manifests), rate, load, milliseconds, switches, end is not None)
            if not case.extender.has_conflicts:
                return run
            on = Counter(pod["spec"]["nodeName"] for pod in self._workload.pods() if pod["spec"].get("nodeName"))
            is_counted = case.extender is Extender.BERTH_COUNTED
            over = overcommitted(on) if is_counted else sum(number > 1 for number in on.values())
            return replace(run, overcommitted=over)


class BoundPods:
    """The time when each pod was bound, by this process's clock. A separate thread follows watch events."""

    def __init__(self, events: Iterable[JsonObject]) -> None:
        self.times: list[float] = []
        self._events = events
        self._changed = Condition()
        self._ended = Event()
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        Thread(target=self._follow, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()

    def wait_for(self, count: int, first: float, all_of_them: float) -> float | None:
        """Wait until `count` pods are bound, or `all_of_them` seconds after the first pod. Returns None if all are
        bound, otherwise the deadline. Raises TimeoutError if none is bound in `first` seconds, or the watch's error."""
        until = time.perf_counter() + first
        with self._changed:
            while len(self.times) < count and (left := until - time.perf_counter()) > 0:
                if self._error is not None:
                    raise self._error
                self._changed.wait(left)
                if self.times:
                    until = self.times[0] + all_of_them
        if not self.times:
            raise TimeoutError(f"no pod was bound within {first:g} s")
        return None if len(self.times) >= count else until

    def _follow(self) -> None:
        try:
            for event in self._events:
                if self._ended.is_set():
                    return
                if event["type"] == "ERROR":
                    raise ApiError(event["object"]["code"], event["object"]["message"])
                if event["type"] == "ADDED":
                    self._note()
        except (ApiError, urllib3.exceptions.HTTPError) as error:
            self._note(error)

    def _note(self, error: Exception | None = None) -> None:
        with self._changed:
            if error is None:
                self.times.append(time.perf_counter())
            self._error = error
            self._changed.notify_all()


def rate_of(times: Sequence[float], end: float | None = None) -> float:
    """Return the pods per second without the warm-up. times: when each pod was bound.

    end: when the run ended, if not all pods were bound; the time in which a scheduler stalled then counts, too.
    """
    measured = sorted(times)[int(len(times) * WARM_UP) :]
    if len(measured) < 2:
        return 0.0
    return (len(measured) - 1) / ((measured[-1] if end is None else end) - measured[0])


def _manifests(case: Case, names: list[str], pods: int, nodes: int) -> list[Manifest]:
    if case.extender is Extender.BERTH_COUNTED:
        return [counted_pod_manifest(number, names[number % len(names)]) for number in range(min(pods, MAX_COUNTED))]
    if case.extender is Extender.BERTH_RULES:
        # One pod per node on half of the nodes: with fewer free nodes, the back-off would dominate.
        return [ruled_pod_manifest(number, names[number % len(names)]) for number in range(min(pods, nodes // 2))]
    return [pod_manifest(number) for number in range(pods)]
