"""Plugins that break one rule each, sound ones to compare with, and the cluster on which they are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from berth.scheduling.framework import (
    NODES_ONLY,
    SUCCESS,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    FilterPlugin,
    Plugin,
    ScorePlugin,
    Status,
    unschedulable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_testing import node, pod

ZONE = "topology.kubernetes.io/zone"
FULL = unschedulable("Mine", "node(s) were full")
ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": ZONE}
        ]
    }
}
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]
NODES = [node(f"node-{index}", {ZONE: f"zone-{index % 2}"}) for index in range(4)]
PLACED = [pod("db-0", {"app": "db"}, on="node-0", affinity=ANTI_AFFINITY), pod("web-0", {"app": "web"}, on="node-1")]
PODS = [
    pod("db", {"app": "db"}, affinity=ANTI_AFFINITY),
    pod("web", {"app": "web"}, topologySpreadConstraints=SPREAD, requests={"cpu": "1"}),
    pod("plain", {"team": "blue"}, nodeSelector={ZONE: "zone-1"}),
]


class Filters(FilterPlugin):
    name = "Mine"

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return SUCCESS


class Scores(ScorePlugin):
    name = "Mine"

    def score(self, state: Pod, node: NodeInfo) -> int:
        return 1


class Raises(Filters):
    def filter(self, state: Pod, node: NodeInfo) -> Status:
        raise KeyError(state.labels["team"])


class NamesPod(Filters):
    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return unschedulable("Mine", f"no room for {state.name}")


class PutsReasonTogether(Filters):
    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return unschedulable("Mine", " ".join(("node(s)", "were", "closed")))


class GivesNoReason(Filters):
    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return unschedulable("Mine")


class ScoresHigh(Scores):
    def score(self, state: Pod, node: NodeInfo) -> int:
        return 101


class NeedsCandidate(Scores):
    normalized = True

    def normalize(self, scores: list[int]) -> list[int]:
        highest = max(scores)
        return [100 * score // highest for score in scores]


class ReadsName(Filters):
    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return FULL if state.name == "web" else SUCCESS


class ReadsLabel(Filters):
    def shape(self, pod: Pod) -> Any:
        return pod.namespace

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return FULL if "team" in state.labels else SUCCESS


class ReadsPods(Filters):
    reads = NODES_ONLY

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return FULL if node.pods else SUCCESS


class Draws(Scores):
    numbers = count()

    def score(self, state: Pod, node: NodeInfo) -> int:
        return next(self.numbers) % 101


def calling(call: Callable[[], object]) -> type[Plugin]:
    """Return a plugin that makes this call for each node."""

    class Calls(Filters):
        def filter(self, state: Pod, node: NodeInfo) -> Status:
            return SUCCESS if call() is not None else FULL

    return Calls


NORMALIZING = count()


class NormalizesByInstance(Scores):
    normalized = True

    def __init__(self) -> None:
        self.least = next(NORMALIZING) % 2

    def normalize(self, scores: list[int]) -> list[int]:
        return [self.least for _ in scores]


@dataclass(frozen=True)
class Taken(ClusterFilter):
    """Keeps the set of nodes that have a pod, and rejects them. `broken`: the method that does not update the set."""

    nodes: frozenset[str]
    broken: str

    def filter(self, node: NodeInfo) -> Status:
        return FULL if node.name in self.nodes else SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        if self.broken == "updated_to":
            return self, None
        return taken(snapshot, self.broken), ()

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self if self.broken == "with_pod" else Taken(self.nodes | {node.name}, self.broken)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        if self.broken == "without_pod" or node.pods:
            return self
        return Taken(self.nodes - {node.name}, self.broken)


def taken(snapshot: Snapshot, broken: str) -> Taken:
    return Taken(frozenset(name for name, each in snapshot.nodes.items() if each.pods), broken)


class OneEach(ClusterFilterPlugin):
    name = "Mine"
    broken = ""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        return taken(snapshot, self.broken)


def without(method: str) -> type[Plugin]:
    return type("Broken", (OneEach,), {"broken": method})


@dataclass(frozen=True)
class Counts(ClusterFilter):
    """Rejects the nodes of a zone with `most` pods. `broken`: the method that does not update the numbers."""

    pods: Mapping[str, int]
    most: int
    broken: str

    def filter(self, node: NodeInfo) -> Status:
        return FULL if self.pods[node.labels[ZONE]] >= self.most else SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        return (self, None) if self.broken == "updated_to" else (counts(snapshot, self.most, self.broken), None)

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self if self.broken == "with_pod" else self._changed(node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self if self.broken == "without_pod" else self._changed(node, -1)

    def _changed(self, node: NodeInfo, number: int) -> ClusterFilter:
        zone = node.labels[ZONE]
        return replace(self, pods={**self.pods, zone: self.pods[zone] + number})


def counts(snapshot: Snapshot, most: int, broken: str) -> Counts:
    pods: Counter[str] = Counter()
    for each in snapshot.nodes.values():
        pods[each.labels[ZONE]] += len(each.pods)
    return Counts(pods, most, broken)


def at_most(most: int, broken: str = "") -> type[Plugin]:
    """Return a plugin that allows this number of pods in a zone. Each zone has two nodes and one pod."""

    class AtMost(ClusterFilterPlugin):
        name = "Mine"

        def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
            return counts(snapshot, most, broken)

    return AtMost


class RejectsFullCluster(OneEach):
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        return FULL if len(snapshot.nodes) != len(NODES) else super().pre_filter(pod, snapshot)


@dataclass(frozen=True)
class Busy(ClusterFilter):
    """Rejects every node of a cluster with more than two pods. `updated_to` never reports a changed verdict."""

    pods: int

    def filter(self, node: NodeInfo) -> Status:
        return FULL if self.pods > 2 else SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        return Busy(sum(len(each.pods) for each in snapshot.nodes.values())), ()

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return Busy(self.pods + 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return Busy(self.pods - 1)


class NamesNoNode(ClusterFilterPlugin):
    name = "Mine"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        return Busy(sum(len(each.pods) for each in snapshot.nodes.values()))


@dataclass(frozen=True)
class FirstPods(ClusterScore):
    snapshot: Snapshot

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        known = self.snapshot.nodes
        return [len(known[name].pods) if name in known else 0 for name in candidates.names]

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        return self


class ScoresOldPods(ClusterScorePlugin):
    name = "Mine"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore:
        return FirstPods(snapshot)
