"""Compares the place of each pod in two runs, and the cluster's load in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.fields.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from berth.scheduling.framework.plugin import Status
from berth.scheduling.managed_resources.pools import resource_of
from berth.scheduling.reason_code import REASON_CODES_VERSION, ReasonCode
from berth_cli.placement.changed_objects import EVERY_NODE, PodName
from berth_cli.placement.run import Place, PlaceKind, Rule, Run
from berth_cli.terminal.output import table_lines

POD_HEADER = ("NAMESPACE", "POD", "PRIORITY", "BEFORE", "AFTER", "MESSAGE")
_ALWAYS_SHOWN = (CPU, MEMORY)


class Effect(StrEnum):
    """The effect of the change on a pod."""

    SAME = "same"
    MOVED = "moved"
    NEWLY_PENDING = "newly-pending"
    NEWLY_PLACED = "newly-placed"
    EVICTED = "evicted"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason why the second run does not place a pod on its node of the first run: a plugin rejects the node or,
    without a plugin, another node has a higher score. `code`: the code of the plugin's reason; None without a
    plugin."""

    node: str
    plugin: str
    reason: str
    code: ReasonCode | None = None

    @classmethod
    def of(cls, node: str, rejection: Status | None) -> Cause:
        """Build the cause. `rejection`: the node's status; None if the node is feasible."""
        if rejection is None:
            return cls(node, "", "another node has a higher score")
        return cls(node, rejection.plugin, rejection.message, rejection.reason_codes[0])

    def __str__(self) -> str:
        return f"{self.plugin} rejects {self.node}: {self.reason}" if self.plugin else self.reason


@dataclass(frozen=True, slots=True)
class PodComparison:
    """A pod in both runs. `cause`: why it left its node of the first run; None if it did not, or if unknown."""

    pod: PodName
    priority: int
    before: Place
    after: Place
    cause: Cause | None = None

    @property
    def effect(self) -> Effect:
        """The effect of the change on the pod."""
        before, after = self.before.kind, self.after.kind
        if after is PlaceKind.PENDING and before is not PlaceKind.PENDING:
            return Effect.NEWLY_PENDING
        if before is after:
            return Effect.SAME if self.before.node == self.after.node else Effect.MOVED
        match after:
            case PlaceKind.ABSENT:
                return Effect.DELETED
            case PlaceKind.EVICTED:
                return Effect.EVICTED
            case _:
                return Effect.NEWLY_PLACED

    @property
    def name(self) -> str:
        """The pod's name in messages."""
        return "/".join(self.pod)

    @property
    def message(self) -> str:
        """The reason why the pod is not on its earlier node: for a pending pod the rules that reject nodes, otherwise
        the cause. If the pod was evicted or the cause is unknown: the message of its place in the second run."""
        if self.cause is None or self.after.kind is PlaceKind.EVICTED:
            return self.after.message
        if self.after.kind is PlaceKind.PENDING:
            return ", ".join(map(str, self.after.rules)) or self.after.message
        return str(self.cause)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, and the pods that one of them queued or evicted (see `compare`), by descending priority, then name."""

    before: Run
    after: Run
    pods: tuple[PodComparison, ...]

    def count(self, effect: Effect) -> int:
        """Return the number of pods with this effect."""
        return sum(each.effect is effect for each in self.pods)


def compare(
    before: Run, after: Run, also: Iterable[PodName] = (), reasons: Mapping[PodName, Cause] | None = None
) -> Comparison:
    """Compare two runs. `also`: additional pods to list, such as deleted pods. `reasons`: by pod, why the pod
    left its node of the first run."""
    priorities, reasons = {**before.priorities, **after.priorities}, reasons or {}
    pods = (
        PodComparison(name, priorities.get(name, 0), before.place_of(name), after.place_of(name), reasons.get(name))
        for name in {*before.places, *after.places, *also}
    )
    return Comparison(before, after, tuple(sorted(pods, key=lambda each: (-each.priority, each.pod))))


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """The load of the schedulable nodes. `unused`: nodes that run only pods of DaemonSets and static pods. `requested`,
    `allocatable`: amounts by resource; cpu in thousandths, other resources in whole units."""

    nodes: int
    unused: int
    requested: Mapping[str, int]
    allocatable: Mapping[str, int]

    def share(self, resource: str) -> int | None:
        """Return the percentage of the resource that pods request; None if the nodes do not have the resource."""
        total = self.allocatable.get(resource, 0)
        return round(100 * self.requested.get(resource, 0) / total) if total else None


def cluster_load(run: Run) -> ClusterLoad:
    """Return the total load of the schedulable nodes, including resources that the run's configuration counts."""
    schedulable = [node for node in run.nodes.values() if not node.unschedulable]
    unused = sum(all(pod.controller_kind in EVERY_NODE for pod in node.pods) for node in schedulable)
    requested: Counter[str] = Counter()
    allocatable: Counter[str] = Counter()
    counted = dict.fromkeys(run.counting.resources, 0)
    for node in schedulable:
        requested.update({**node.usage.requested, **counted})
        allocatable.update({**node.allocatable, **counted})
        capacity = run.counting.capacity(node)
        for pool, amount in run.counting.used(node.pods, capacity).items():
            requested[resource_of(pool)] += amount
        for pool, amount in capacity.items():
            allocatable[resource_of(pool)] += amount
    return ClusterLoad(len(schedulable), unused, requested, allocatable)


def resources_shown(*loads: ClusterLoad) -> list[str]:
    """Return cpu, memory, and the extended resources that pods request."""
    requested = {name for load in loads for name, amount in load.requested.items() if amount}
    return [*_ALWAYS_SHOWN, *sorted(requested - {*_ALWAYS_SHOWN, EPHEMERAL_STORAGE})]


def pod_rows(pods: Iterable[PodComparison]) -> Iterator[str]:
    """Yield a header and one line for each pod; nothing without pods."""
    rows = [(*each.pod, str(each.priority), str(each.before), str(each.after), each.message) for each in pods]
    if rows:
        yield from table_lines([POD_HEADER, *rows])


def figure_rows(comparison: Comparison) -> Iterator[str]:
    """Yield the cluster's figures before and after."""
    yield from table_lines([("", "BEFORE", "AFTER"), *figures(comparison)])


def figures(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return each figure's name, and its values before and after."""
    runs = comparison.before, comparison.after
    loads = [cluster_load(run) for run in runs]
    shares = {f"{each} requested": [load.share(each) for load in loads] for each in resources_shown(*loads)}
    return [
        ("schedulable nodes", *(str(load.nodes) for load in loads)),
        ("of these unused", *(str(load.unused) for load in loads)),
        ("pods on nodes", *(str(len(run.on_nodes)) for run in runs)),
        ("pods pending", *(str(run.count(PlaceKind.PENDING)) for run in runs)),
        ("pods evicted", *(str(run.count(PlaceKind.EVICTED)) for run in runs)),
        *((name, *("-" if share is None else f"{share} %" for share in pair)) for name, pair in shares.items()),
    ]


def comparison_document(comparison: Comparison, pods: Iterable[PodComparison]) -> dict[str, object]:
    """Return the comparison as a JSON object that lists only these pods."""
    return {
        "reasonCodesVersion": REASON_CODES_VERSION,
        "pods": [_pod(each) for each in pods],
        "summary": {
            "before": _run(comparison.before),
            "after": _run(comparison.after),
            "effects": {str(effect): comparison.count(effect) for effect in Effect},
        },
    }


def _pod(each: PodComparison) -> dict[str, object]:
    namespace, name = each.pod
    found: dict[str, object] = {
        "namespace": namespace,
        "name": name,
        "priority": each.priority,
        "effect": str(each.effect),
        "before": _place(each.before),
        "after": _place(each.after),
    }
    if each.cause is not None:
        found["cause"] = {
            "node": each.cause.node,
            "plugin": each.cause.plugin or None,
            "code": each.cause.code,
            "reason": each.cause.reason,
        }
    return found


def _place(place: Place) -> dict[str, object]:
    found: dict[str, object] = {"state": str(place.kind), "node": place.node or None}
    if place.message:
        found["message"] = place.message
    if place.rules:
        found["rules"] = rules_document(place.rules, "nodes")
    return found


def rules_document(rules: Iterable[Rule], counted: str) -> list[dict[str, object]]:
    """Return the rules for JSON. counted: the key of each rule's number, `nodes` or `pods`."""
    return [
        {"plugin": each.plugin or None, "code": each.code, "reason": each.reason, counted: each.count} for each in rules
    ]


def _run(run: Run) -> dict[str, object]:
    load = cluster_load(run)
    shares = ((name, load.share(name)) for name in resources_shown(load))
    return {
        "schedulableNodes": load.nodes,
        "unusedNodes": load.unused,
        "podsOnNodes": len(run.on_nodes),
        "podsPending": run.count(PlaceKind.PENDING),
        "podsEvicted": run.count(PlaceKind.EVICTED),
        "requestedPercent": {name: share for name, share in shares if share is not None},
    }
