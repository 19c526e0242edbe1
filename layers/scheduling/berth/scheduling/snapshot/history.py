"""The changes between snapshots. With these, results of an earlier snapshot are updated instead of computed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec

MAX_DELTAS = 1024
MIN_NODES = 1024


@dataclass(frozen=True, slots=True)
class PodMoves:
    """The names of the nodes on which pods were added, removed or changed. by_label_set: by the label set of such a
    pod. by_spec: by the spec of such a pod, if the spec has affinity terms."""

    by_label_set: Mapping[LabelSet, Set[str]]
    by_spec: Mapping[PodSpec, Set[str]]

    @classmethod
    def of(cls, pods: Iterable[tuple[Pod, str]]) -> Self:
        by_label_set: dict[LabelSet, set[str]] = {}
        by_spec: dict[PodSpec, set[str]] = {}
        for pod, node_name in pods:
            by_label_set.setdefault(pod.label_set, set()).add(node_name)
            if pod.spec.pod_affinity.has_terms:
                by_spec.setdefault(pod.spec, set()).add(node_name)
        return cls(by_label_set, by_spec)


@dataclass(frozen=True, slots=True)
class SnapshotDelta:
    """The changes from one snapshot to a later one.

    before: the earlier state of each changed node; None for an added node. reset: the names of nodes that were added or
    removed, or whose own fields changed. pod_moves: one entry for each update; pods on nodes in `reset` may be missing.
    positions: the positions of changed nodes that still exist. relabelled: whether a node was added, removed or
    relabeled.
    """

    before: Mapping[str, NodeInfo | None] = field(default_factory=dict)
    reset: frozenset[str] = frozenset()
    pod_moves: tuple[PodMoves, ...] = ()
    positions: tuple[int, ...] = ()
    relabelled: bool = False

    @classmethod
    def union(cls, deltas: Sequence[Self]) -> Self:
        if len(deltas) == 1:
            return deltas[0]
        before: dict[str, NodeInfo | None] = {}
        for delta in reversed(deltas):
            before.update(delta.before)
        return cls(
            before,
            frozenset[str]().union(*(delta.reset for delta in deltas)),
            tuple(chain.from_iterable(delta.pod_moves for delta in deltas)),
            tuple({position for delta in deltas for position in delta.positions}),
            any(delta.relabelled for delta in deltas),
        )


class SnapshotId:
    """The identity of a snapshot."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The deltas that led to a snapshot, oldest first, each with the identity of the snapshot before it. It does not
    keep these snapshots in memory. The oldest deltas are dropped if there are too many, or if the deltas change more
    nodes than exist: then computing the results again is as fast."""

    moment: SnapshotId = field(default_factory=SnapshotId)
    deltas: tuple[tuple[SnapshotId, SnapshotDelta], ...] = ()
    changed: int = 0

    def followed_by(self, delta: SnapshotDelta, nodes: int) -> History:
        deltas, changed = (*self.deltas, (self.moment, delta)), self.changed + len(delta.before)
        first = 0
        while changed > max(nodes, MIN_NODES) or len(deltas) - first > MAX_DELTAS:
            changed -= len(deltas[first][1].before)
            first += 1
        return History(SnapshotId(), deltas[first:], changed)

    def since(self, moment: SnapshotId) -> SnapshotDelta | None:
        """Return all changes since a snapshot as one delta; None if the history begins after that snapshot."""
        if moment is self.moment:
            return SnapshotDelta()
        for index in range(len(self.deltas) - 1, -1, -1):
            if self.deltas[index][0] is moment:
                return SnapshotDelta.union([delta for _, delta in self.deltas[index:]])
        return None
