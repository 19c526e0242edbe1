"""How much of the nodes is requested, and how that moves from one run to the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from berth.scheduling.fields.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from berth.scheduling.objects import NodeInfo

_ALWAYS_SHOWN = (CPU, MEMORY)


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """Of the schedulable nodes. `unused`: those that run DaemonSets' and static pods alone. Amounts by resource, in
    thousandths of cpu and in whole units of anything else."""

    nodes: int
    unused: int
    requested: Mapping[str, int]
    allocatable: Mapping[str, int]

    def share(self, resource: str) -> int | None:
        """Per cent of the resource that pods request; None where the nodes have none of it."""
        total = self.allocatable.get(resource, 0)
        return round(100 * self.requested.get(resource, 0) / total) if total else None


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """What pods request of a node, in per cent by resource, before and after. None: there is no such node."""

    node: str
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None

    @property
    def largest_move(self) -> int:
        """The largest difference of a resource, in points of per cent."""
        before, after = self.before or {}, self.after or {}
        return max((abs(after.get(each, 0) - before.get(each, 0)) for each in {*before, *after}), default=0)


def cluster_load(nodes: Iterable[NodeInfo]) -> ClusterLoad:
    """The load of the schedulable nodes together."""
    count = unused = 0
    requested: Counter[str] = Counter()
    allocatable: Counter[str] = Counter()
    for node in nodes:
        if node.unschedulable:
            continue
        count += 1
        unused += all(pod.controller_kind in ("DaemonSet", "Node") for pod in node.pods)
        requested.update(node.usage.requested)
        allocatable.update(node.allocatable)
    return ClusterLoad(count, unused, requested, allocatable)


def resources_shown(*loads: ClusterLoad) -> list[str]:
    """cpu, memory, and the extended resources that pods request."""
    requested = {name for load in loads for name, amount in load.requested.items() if amount}
    return [*_ALWAYS_SHOWN, *sorted(requested - {*_ALWAYS_SHOWN, EPHEMERAL_STORAGE})]


def moved_loads(before: Mapping[str, NodeInfo], after: Mapping[str, NodeInfo]) -> list[NodeLoad]:
    """The nodes whose load differs, the largest move first."""
    found = list(_moved(before, after))
    return sorted(found, key=lambda each: (-each.largest_move, each.node))


def _moved(before: Mapping[str, NodeInfo], after: Mapping[str, NodeInfo]) -> Iterator[NodeLoad]:
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old is not None and new is not None and old.usage.requested == new.usage.requested:
            continue
        yield NodeLoad(name, None if old is None else _shares(old), None if new is None else _shares(new))


def _shares(node: NodeInfo) -> Mapping[str, int]:
    requested = node.usage.requested
    return {
        name: round(100 * requested.get(name, 0) / total)
        for name, total in node.allocatable.items()
        if total and (name in _ALWAYS_SHOWN or requested.get(name))
    }
