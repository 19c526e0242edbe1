"""Indexes of a snapshot: the label sets and affinity terms of its pods, and the nodes by label value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import LabelSet, PodSpec
from berth.scheduling.snapshot.history import Step

MAX_GROWTH = 50_000


class PodIndex:
    """Of a snapshot, and of those before and after it: it only grows, and is shared. Too much in it does no harm."""

    def __init__(self) -> None:
        self._label_sets: dict[str, set[LabelSet]] = {}
        self._specs: set[PodSpec] = set()
        self._growth = 0
        self._taken = False

    @property
    def worn(self) -> bool:
        """Whether so many have come since it was taken that it should be made anew."""
        return self._growth > MAX_GROWTH

    def take(self, nodes: Iterable[NodeInfo]) -> None:
        """Once for all snapshots that share it: what left before then has been noted."""
        if not self._taken:
            usages = [node.usage for node in nodes]
            self._add(set().union(*(usage.label_sets for usage in usages)))
            self._specs.update(*(usage.affine for usage in usages))
            self._taken = True

    def note(self, step: Step, now: Mapping[str, NodeInfo | None]) -> None:
        """What came and went with a step; `now`: the changed nodes as they are."""
        for moved in step.moved:
            self._note(moved.by_label_set, moved.by_spec)
        for name in step.reset:
            for node in (step.before[name], now[name]):
                if node is not None:
                    self._note(node.usage.label_sets, node.usage.affine)

    def label_sets(self, namespaces: Collection[str] | None) -> Iterable[LabelSet]:
        """Those in these namespaces; None for any."""
        # Tuples are made in one go, while other threads may note more.
        for namespace in tuple(self._label_sets) if namespaces is None else namespaces:
            yield from tuple(self._label_sets.get(namespace, ()))

    @property
    def specs(self) -> Iterable[PodSpec]:
        """Specs with terms of affinity or anti-affinity."""
        return tuple(self._specs)

    def _note(self, label_sets: Collection[LabelSet], specs: Iterable[PodSpec]) -> None:
        self._add(label_sets)
        self._specs.update(specs)
        self._growth += len(label_sets)

    def _add(self, label_sets: Iterable[LabelSet]) -> None:
        for label_set in label_sets:
            self._label_sets.setdefault(label_set.namespace, set()).add(label_set)


class TopologyIndex:
    """Worked out per label key when first asked for. Shared by snapshots between which no node's labels changed."""

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
