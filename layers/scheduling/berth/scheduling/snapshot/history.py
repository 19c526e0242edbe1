"""What changed from one snapshot to the next, so that later work can begin where earlier work ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec

MAX_STEPS = 1024
MIN_NODES = 1024


@dataclass(frozen=True, slots=True)
class MovedPods:
    """The pods that came to nodes, left them or changed on them: on which nodes there were such with these labels.

    by_spec: the same for those with terms of affinity.
    """

    by_label_set: Mapping[LabelSet, Set[str]]
    by_spec: Mapping[PodSpec, Set[str]]

    @classmethod
    def of(cls, pods: Iterable[tuple[Pod, str]]) -> Self:
        """Pods with the names of their nodes."""
        by_label_set: dict[LabelSet, set[str]] = {}
        by_spec: dict[PodSpec, set[str]] = {}
        for pod, node_name in pods:
            by_label_set.setdefault(pod.label_set, set()).add(node_name)
            if pod.spec.pod_affinity.has_terms:
                by_spec.setdefault(pod.spec, set()).add(node_name)
        return cls(by_label_set, by_spec)


@dataclass(frozen=True, slots=True)
class Step:
    """What changed.

    before: the nodes that came, went or changed in any way, as they were; None for one that came. reset: those of them
    that did not only have pods come, go or change. moved: such pods, all that moved at once together; of those on nodes
    that were reset some may be missing. positions: where those of the nodes stand that are there after it. relabelled:
    whether a node came, went or got other labels.
    """

    before: Mapping[str, NodeInfo | None] = field(default_factory=dict)
    reset: frozenset[str] = frozenset()
    moved: tuple[MovedPods, ...] = ()
    positions: tuple[int, ...] = ()
    relabelled: bool = False

    @property
    def names(self) -> Set[str]:
        """Of the nodes."""
        return self.before.keys()

    @classmethod
    def union(cls, steps: Sequence[Self]) -> Self:
        """Several steps, first to last, as one."""
        if len(steps) == 1:
            return steps[0]
        before: dict[str, NodeInfo | None] = {}
        for step in reversed(steps):
            before.update(step.before)
        return cls(
            before,
            frozenset[str]().union(*(step.reset for step in steps)),
            tuple(chain.from_iterable(step.moved for step in steps)),
            tuple({position for step in steps for position in step.positions}),
            any(step.relabelled for step in steps),
        )


class SnapshotId:
    """Which snapshot it is. Compared by identity."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The steps that led to a moment, each with the moment before it, first to last.

    It reaches back as far as fewer nodes have changed since than there are: to begin anew takes no longer then. It
    keeps no snapshot alive.
    """

    moment: SnapshotId = field(default_factory=SnapshotId)
    steps: tuple[tuple[SnapshotId, Step], ...] = ()
    changed: int = 0

    def followed_by(self, step: Step, nodes: int) -> History:
        """The history one step on, of so many nodes."""
        steps, changed = (*self.steps, (self.moment, step)), self.changed + len(step.before)
        first = 0
        while changed > max(nodes, MIN_NODES) or len(steps) - first > MAX_STEPS:
            changed -= len(steps[first][1].before)
            first += 1
        return History(SnapshotId(), steps[first:], changed)

    def since(self, moment: SnapshotId) -> Step | None:
        """All that changed after a moment, as one step; None where that is no part of this history."""
        if moment is self.moment:
            return Step()
        for index in range(len(self.steps) - 1, -1, -1):
            if self.steps[index][0] is moment:
                return Step.union([step for _, step in self.steps[index:]])
        return None
