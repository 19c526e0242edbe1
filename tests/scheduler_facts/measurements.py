"""Measures the contract's facts that depend on the scheduler's version, on a real API server and kube-scheduler.

Each measurement has a separate scheduler and scripted extender.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.e2e.kubernetes.cluster import Cluster, Pod
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import KubernetesApi
from tests.e2e.kubernetes.scheduler_configuration import Mode, scheduler_configuration
from tests.scheduler_facts.extender import (
    Answers,
    ScriptedExtender,
    agree,
    fail,
    name_no_victims,
    pass_all,
    reject_as,
    score_equally,
)
from tests.scheduler_facts.facts import EmptyVictims, Facts

LOOP_SECONDS = 20
LOOP_NODES = 20
STORM_SECONDS = 10
STORM_PODS = 30
STORM_INTERVAL = 0.2
QUIET_SECONDS = 3.0
PLACEMENTS = 10
WAKE_UPS = 5

UNRESOLVABLE = reject_as("FailedAndUnresolvableNodes")
STORAGE_CAPACITIES = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities"

PathOf = Callable[[Pod, str], str]
"""Returns the path of the object to patch, from the pending pod and the node."""


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster with a scheduler that calls the extender."""

    cluster: Cluster
    extender: ScriptedExtender


def measured_facts(directory: Path) -> Facts:
    """Measure all facts on a separate control plane; takes two to three minutes."""
    with ControlPlane(directory) as control_plane:
        return _measure(control_plane, KubernetesApi(control_plane.credentials()).get("/version")["gitVersion"])


def _measure(control_plane: ControlPlane, kubernetes: str) -> Facts:
    laboratory = Laboratory(control_plane)
    loop = laboratory.rejections({"filter": reject_as("FailedNodes"), "preempt": agree})
    preemption = laboratory.preemption()
    return Facts(
        kubernetes=kubernetes,
        failed_nodes=len(loop.calls("filter")),
        preempt_after_failed_nodes=len(loop.calls("preempt")),
        unresolvable_nodes=len(laboratory.rejections({"filter": UNRESOLVABLE, "preempt": agree}).calls("filter")),
        errors=len(laboratory.rejections({"filter": fail}).calls("filter")),
        wake_up_by_storage_capacity=laboratory.wake_up(lambda pod, node: f"{STORAGE_CAPACITIES}/facts"),
        wake_up_by_node=laboratory.wake_up(lambda pod, node: f"/api/v1/nodes/{node}"),
        wake_up_by_own_annotation=laboratory.wake_up(lambda pod, node: pod.path),
        retry_storm=laboratory.retry_storm(),
        preempt_calls=preemption.preempt_calls,
        nodes_asked_for_nominated_pod=preemption.nodes_asked,
        empty_victims=laboratory.empty_victims(),
        prioritize_of_one_node=laboratory.prioritize_of_one_node(),
        placed_on_fuller_node=laboratory.placed_on_fuller_node(),
    )


@dataclass(frozen=True, slots=True)
class PreemptionCalls:
    """preempt_calls: for one pod. nodes_asked: the number of names in the first filter call after its victims ended."""

    preempt_calls: int
    nodes_asked: int


class Laboratory:
    """Measurements on one control plane, one after the other."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._api = KubernetesApi(control_plane.credentials())
        self._control_plane = control_plane
        self._numbers = count()
        self._annotations = count()

    def rejections(self, answers: Answers) -> ScriptedExtender:
        """Return the extender after 20 s in which a pod was pending, with 20 nodes that have pods of lower priority."""

        def prepare(cluster: Cluster) -> None:
            cluster.create_priority_class("low", 100)
            cluster.create_priority_class("high", 1000)
            for number in range(LOOP_NODES):
                node = cluster.create_node(f"node-{number}")
                cluster.create_pod(f"running-{number}", priority_class="low", node=node)

        with self._running(answers, prepare) as running:
            running.cluster.create_pod("web", priority_class="high")
            time.sleep(LOOP_SECONDS)
            return running.extender

    def wake_up(self, patched: PathOf) -> int:
        """Return the milliseconds from a patch of an annotation to the next filter call for a rejected pod."""
        nodes: list[str] = []
        with self._running(
            {"filter": UNRESOLVABLE}, lambda cluster: nodes.append(cluster.create_node("node"))
        ) as running:
            self._api.apply(
                f"{STORAGE_CAPACITIES}/facts",
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSIStorageCapacity",
                    "metadata": {"name": "facts", "namespace": "kube-system"},
                    "storageClassName": "none",
                },
            )
            pod = running.cluster.create_pod("web")
            took: list[float] = []
            for _ in range(WAKE_UPS):
                time.sleep(QUIET_SECONDS)  # a rejected pod is retried once immediately (fact 41)
                before, since = len(running.extender.calls("filter")), time.monotonic()
                annotation = {"facts/number": str(next(self._annotations))}
                self._api.patch(patched(pod, nodes[0]), {"metadata": {"annotations": annotation}})
                took.append(running.extender.wait_for_calls("filter", before + 1)[before].at - since)
        return round(1000 * statistics.median(took))

    def retry_storm(self) -> float:
        """Return filter calls a second for 30 rejected pods; another pod's status changes five times a second."""
        placed: list[Pod] = []

        def prepare(cluster: Cluster) -> None:
            placed.append(cluster.create_pod("running", node=cluster.create_node("node")))

        with self._running({"filter": UNRESOLVABLE}, prepare) as running:
            for number in range(STORM_PODS):
                running.cluster.create_pod(f"web-{number}")
            running.extender.wait_for_calls("filter", STORM_PODS)
            time.sleep(QUIET_SECONDS)
            before, ends = len(running.extender.calls("filter")), time.monotonic() + STORM_SECONDS
            while time.monotonic() < ends:
                status = {"message": str(next(self._annotations))}
                self._api.patch(f"{placed[0].path}/status", {"status": status})
                time.sleep(STORM_INTERVAL)
            return round((len(running.extender.calls("filter")) - before) / STORM_SECONDS, 1)

    def preemption(self) -> PreemptionCalls:
        """Count the calls for a pod that fits on two nodes only after an eviction, with an extender that agrees."""
        with self._preempting({"filter": pass_all, "preempt": agree}) as (running, pod, victims):
            nominated = running.cluster.wait_until_nominated(pod)
            victim = victims[nominated]
            running.cluster.wait_until_evicted(victim)
            preempt_calls = len(running.extender.calls("preempt"))
            running.cluster.end_containers(victim)
            first = running.extender.wait_for_calls("filter", 1)[0]
            return PreemptionCalls(preempt_calls, len(first.request["NodeNames"]))

    def empty_victims(self) -> EmptyVictims:
        """Return the outcome for a pod as in `preemption` if the extender answers with both nodes and no victims."""
        with self._preempting({"filter": pass_all, "preempt": name_no_victims}) as (running, pod, _):
            running.extender.wait_for_calls("preempt", 1)
            time.sleep(QUIET_SECONDS)
            state = running.cluster.state(pod)
            if state.nominated_node:
                return EmptyVictims.PREEMPTS
            failed = "expected at least one victim" in (state.unschedulable or "")
            return EmptyVictims.ERROR if failed else EmptyVictims.NOTHING

    def prioritize_of_one_node(self) -> int:
        """Count the prioritize calls for a pod that has only one node left."""
        answers: Answers = {"filter": pass_all, "prioritize": score_equally}
        with self._running(answers, lambda cluster: cluster.create_node("node")) as running:
            running.cluster.wait_until_assigned(running.cluster.create_pod("web"))
            return len(running.extender.calls("prioritize"))

    def placed_on_fuller_node(self) -> int:
        """Count how many of ten pods in full mode go to the fuller of two nodes; default scores prefer the other."""
        fuller: list[str] = []

        def prepare(cluster: Cluster) -> None:
            fuller.append(cluster.create_node("fuller"))
            cluster.create_node("emptier")
            cluster.create_pod("running", cpu="3", node=fuller[0])

        with self._running({"filter": pass_all}, prepare, Mode.FULL) as running:
            placed = 0
            for number in range(PLACEMENTS):
                pod = running.cluster.create_pod(f"web-{number}")
                placed += running.cluster.wait_until_assigned(pod) == fuller[0]
                running.cluster.end_containers(pod)
            return placed

    @contextmanager
    def _preempting(self, answers: Answers) -> Iterator[tuple[Running, Pod, dict[str, Pod]]]:
        """Create a pod of high priority, and two nodes that are each filled by a pod of low priority."""
        victims: dict[str, Pod] = {}

        def prepare(cluster: Cluster) -> None:
            cluster.create_priority_class("low", 100)
            cluster.create_priority_class("high", 1000)
            for name in ("a", "b"):
                node = cluster.create_node(name)
                victims[node] = cluster.create_pod(f"running-{name}", cpu="3", priority_class="low", node=node)

        with self._running(answers, prepare) as running:
            yield running, running.cluster.create_pod("web", cpu="2", priority_class="high"), victims

    @contextmanager
    def _running(
        self, answers: Answers, prepare: Callable[[Cluster], object], mode: Mode = Mode.CACHE
    ) -> Iterator[Running]:
        """Run a scheduler. `prepare` creates nodes and running pods before the scheduler starts."""
        cluster = Cluster(self._api, f"{next(self._numbers):03}")
        with ExitStack() as undo:
            undo.callback(cluster.clear)
            prepare(cluster)
            extender = undo.enter_context(ScriptedExtender(answers, mode))
            undo.enter_context(self._control_plane.scheduler(scheduler_configuration([extender.configuration])))
            yield Running(cluster, extender)
