"""InterPodAffinity, score: preferred affinity and anti-affinity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from berth.scheduling.fields.requirements import FEW, Labels
from berth.scheduling.framework.plugin import ClusterScore
from berth.scheduling.framework.score_scaling import min_max_normalize
from berth.scheduling.objects import NodeInfo, Pod, PodSpec
from berth.scheduling.plugins.inter_pod_affinity.terms import NO_LABELS, ManyTerms, affected_nodes, resolve_term
from berth.scheduling.plugins.pod_counts import TopologyCounts
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.indexes import PodIndex
from berth.scheduling.snapshot.node_list import NodeRefs, NodeValues
from berth.scheduling.snapshot.snapshot import Snapshot


class Preferences:
    """The preferred terms of pods of one shape, and the terms of pods on nodes that match such pods."""

    def __init__(self, pod: Pod, snapshot: Snapshot, hard_weight: int) -> None:
        self.pod, self.hard_weight = pod, hard_weight
        self.namespaces = snapshot.namespaces
        self._namespace_labels: Labels = snapshot.namespaces.get(pod.namespace, NO_LABELS)
        preferred = pod.spec.pod_affinity.preferred
        self._many: ManyTerms | None = None
        if len(preferred) > FEW:
            weights = [each.weight for each in preferred]
            self._many, preferred = ManyTerms([each.term for each in preferred], snapshot.namespaces, weights), ()
        self._own = [
            (each.weight, term.topology_key, term.counter())
            for each in preferred
            for term in (resolve_term(each.term, snapshot.namespaces),)
        ]
        self._others: dict[PodSpec, tuple[tuple[str, int], ...]] = {}

    @property
    def is_oversized(self) -> bool:
        if self._many is not None and self._many.is_oversized:
            return True
        return any(counter.is_oversized for _, _, counter in self._own)

    def affected_nodes(self, delta: SnapshotDelta) -> Collection[str]:
        return affected_nodes([counter for _, _, counter in self._own], self._weights_of, delta, self._many)

    def match_any_pod(self, pod_index: PodIndex) -> bool:
        """Return whether a pod in the index may count. This also classifies the label sets of the index."""
        matched = [counter.matches_one_of(pod_index) for _, _, counter in self._own]
        return self._many is not None or any(matched) or any(self._weights_of(spec) for spec in pod_index.specs)

    def pairs(self, node: NodeInfo, *, classified: bool = False) -> Iterable[tuple[str, str, int]]:
        """Yield each topology key, its value, and the weight of the node's pods. classified: see PodCounter.count."""
        labels = node.labels
        if self._many is not None:
            yield from self._many.pairs(node)
        for weight, key, counter in self._own:
            if key in labels:
                number = counter.count(node.usage, classified=classified)
                if number:
                    yield key, labels[key], weight * number
        for spec, number in node.usage.specs_with_affinity.items():
            for key, weight in self._weights_of(spec):
                if key in labels:
                    yield key, labels[key], weight * number

    def _weights_of(self, spec: PodSpec) -> tuple[tuple[str, int], ...]:
        found = self._others.get(spec)
        if found is None:
            found = self._others[spec] = tuple(self._weights(spec))
        return found

    def _weights(self, spec: PodSpec) -> Iterable[tuple[str, int]]:
        pod, labels = self.pod, self._namespace_labels
        for term in spec.pod_affinity.required if self.hard_weight else ():
            if term.matches(pod.namespace, labels, pod.labels):
                yield term.topology_key, self.hard_weight
        for each in spec.pod_affinity.preferred:
            if each.term.matches(pod.namespace, labels, pod.labels):
                yield each.term.topology_key, each.weight


@dataclass(frozen=True, slots=True)
class State(ClusterScore):
    """The state of scoring. weights: by topology value. sums: for each node, the sum of the weights of its values."""

    preferences: Preferences
    weights: TopologyCounts[str]
    sums: NodeValues

    @classmethod
    def of(cls, preferences: Preferences, snapshot: Snapshot) -> State:
        if not preferences.match_any_pod(snapshot.pod_index):
            return cls(preferences, TopologyCounts(), NodeValues(snapshot.positions.size))
        pairs = (pair for node in snapshot.nodes.values() for pair in preferences.pairs(node, classified=True))
        return cls(preferences, TopologyCounts.of(pairs), NodeValues(snapshot.positions.size))

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        if not self.weights:
            return [0] * len(candidates)
        return min_max_normalize(self.sums.get_or_compute(candidates.positions, snapshot.nodes.by_position, self._sum))

    def _sum(self, node: NodeInfo) -> int:
        labels = node.labels
        return sum(self.weights.values(key).get(labels[key], 0) for key in self.weights if key in labels)

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> State:
        preferences = self.preferences
        if snapshot.namespaces is not preferences.namespaces:
            return State.of(Preferences(preferences.pod, snapshot, preferences.hard_weight), snapshot)
        if preferences.is_oversized:
            preferences = Preferences(preferences.pod, snapshot, preferences.hard_weight)
        changes: dict[tuple[str, str], int] = defaultdict(int)
        for name in preferences.affected_nodes(delta):
            for node, sign in ((delta.before[name], -1), (snapshot.nodes.get(name), 1)):
                if node is not None:
                    for key, value, weight in preferences.pairs(node):
                        changes[key, value] += sign * weight
        weights, _ = self.weights.changed(changes)
        others = {name for (key, value), weight in changes.items() if weight for name in snapshot.names_in(key, value)}
        changed = [snapshot.positions[name] for name in others | delta.reset]
        return State(preferences, weights, self.sums.carried_over(snapshot.positions.size, changed))
