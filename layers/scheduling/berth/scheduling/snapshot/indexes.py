"""Indexes of a snapshot: the label sets and affinity terms of its pods, and the nodes by label value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import LabelSet, PodSpec
from berth.scheduling.snapshot.history import SnapshotDelta

MAX_GROWTH = 50_000


class PodIndex:
    """The label sets and the specs with affinity of the pods on nodes.

    Consecutive snapshots share one index, and nothing is removed from it. An entry of a pod that is gone does no harm.
    """

    def __init__(self) -> None:
        self._label_sets: dict[str, set[LabelSet]] = {}
        self._specs: set[PodSpec] = set()
        self._growth = 0
        self._has_nodes = False

    @property
    def is_oversized(self) -> bool:
        """Whether the index has grown so much that a new one should replace it."""
        return self._growth > MAX_GROWTH

    def add_nodes(self, nodes: Iterable[NodeInfo]) -> None:
        """Add the pods of these nodes. Only the first call has an effect; later changes arrive by `record`."""
        if not self._has_nodes:
            usages = [node.usage for node in nodes]
            self._add(set().union(*(usage.label_sets for usage in usages)))
            self._specs.update(*(usage.specs_with_affinity for usage in usages))
            self._has_nodes = True

    def record(self, delta: SnapshotDelta, now: Mapping[str, NodeInfo | None]) -> None:
        """Add the pods that a delta brings or removes. now: the changed nodes as they are after it."""
        for pod_moves in delta.pod_moves:
            self._record(pod_moves.by_label_set, pod_moves.by_spec)
        for name in delta.reset:
            for node in (delta.before[name], now[name]):
                if node is not None:
                    self._record(node.usage.label_sets, node.usage.specs_with_affinity)

    def label_sets(self, namespaces: Collection[str] | None) -> Iterable[LabelSet]:
        """The label sets in these namespaces; None stands for all."""
        # Tuples are made in one go, while other threads may note more.
        for namespace in tuple(self._label_sets) if namespaces is None else namespaces:
            yield from tuple(self._label_sets.get(namespace, ()))

    @property
    def specs(self) -> Iterable[PodSpec]:
        """Specs with terms of affinity or anti-affinity."""
        return tuple(self._specs)

    def _record(self, label_sets: Collection[LabelSet], specs: Iterable[PodSpec]) -> None:
        self._add(label_sets)
        self._specs.update(specs)
        self._growth += len(label_sets)

    def _add(self, label_sets: Iterable[LabelSet]) -> None:
        for label_set in label_sets:
            self._label_sets.setdefault(label_set.namespace, set()).add(label_set)


class TopologyIndex:
    """Node names by label value, computed for each label key on first use.

    Snapshots share it as long as no node's labels change.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, dict[str, list[str]]] = {}

    def names_in(self, key: str, value: str, nodes: Mapping[str, NodeInfo]) -> Sequence[str]:
        """The names of the nodes whose label `key` has this value."""
        by_value = self._by_key.get(key)
        if by_value is None:
            by_value = {}
            for name, node in zip(nodes, nodes.values(), strict=True):
                found = node.labels.get(key)
                if found is not None:
                    by_value.setdefault(found, []).append(name)
            self._by_key[key] = by_value
        return by_value.get(value, ())
