"""Matches pod affinity terms: the incoming pod's terms, and the terms of pods on nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.fields.pod_rules import PodAffinityTerm
from berth.scheduling.fields.requirement_index import RequirementIndex, WeightSum, as_bits
from berth.scheduling.fields.requirements import FEW, Labels
from berth.scheduling.fields.selectors import NOTHING, LabelSelector
from berth.scheduling.objects import LabelSet, NodeInfo, Pod, PodSpec
from berth.scheduling.plugins.pod_counts import PodCounter, TopologyCounts, pod_counter
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

Pairs = dict[tuple[str, str], int]
"""Numbers of pods by topology key and value."""

NO_PAIRS: tuple[Pairs, Pairs, Pairs] = ({}, {}, {})


NO_LABELS: Labels = {}

MAX_LABEL_SETS = 100_000
"""The maximum number of cached label sets: Jobs and StatefulSets give each pod its own labels."""


class ManyTerms:
    """Matches many terms of one pod at once: the cost does not depend on their number. The matching terms are
    cached by label set. Thread-safe.

    With weights, the number of a label set for a topology key is the sum of the weights of the matching terms with this
    key. Without weights, it is 1 if such a term matches.
    """

    def __init__(
        self, terms: Sequence[PodAffinityTerm], namespaces: Mapping[str, Labels], weights: Sequence[int] | None = None
    ) -> None:
        self._namespaces = namespaces
        self._selected = _index([term.selector for term in terms])
        self._of_namespace: dict[str, int] = {}
        self._named: dict[str, list[int]] = {}
        by_key: dict[str, list[int]] = {}
        for bit, term in enumerate(terms):
            by_key.setdefault(term.topology_key, []).append(bit)
            for namespace in term.namespaces:
                self._named.setdefault(namespace, []).append(bit)
        self._size = len(terms)
        self._by_key = by_key
        self._of_key: dict[str, int] = {}
        self._in_namespace = _index([term.namespace_selector for term in terms])
        # See resolve_term: a selector that matches empty labels means every namespace.
        self._anywhere = self._in_namespace.matching(NO_LABELS)
        self._weights = None if weights is None else WeightSum(weights)
        self._bits: dict[LabelSet, int] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._shared: dict[int, int] = {}

    @property
    def is_oversized(self) -> bool:
        return len(self._bits) > MAX_LABEL_SETS

    def matches(self, label_set: LabelSet) -> bool:
        return bool(self._matching(label_set))

    def keys_on(self, labels: Labels) -> Iterable[str]:
        return self._by_key.keys() & labels.keys()

    def pairs(self, node: NodeInfo) -> list[tuple[str, str, int]]:
        """Return topology keys, each with its value on the node and the sum of the numbers of the node's pods for this
        key."""
        keys = self.keys_on(node.labels)
        if not keys:
            return []
        found = [
            (bits, number) for label_set, number in node.usage.label_sets.items() if (bits := self._matching(label_set))
        ]
        pairs = []
        for key in keys if found else ():
            total = sum(self._number(bits, key) * number for bits, number in found)
            if total:
                pairs.append((key, node.labels[key], total))
        return pairs

    def pairs_of_one(self, label_set: LabelSet, node: NodeInfo) -> list[tuple[str, str, int]]:
        bits = self._matching(label_set)
        if not bits:
            return []
        counted = ((key, self._number(bits, key)) for key in self.keys_on(node.labels))
        return [(key, node.labels[key], number) for key, number in counted if number]

    def _matching(self, label_set: LabelSet) -> int:
        bits = self._bits.get(label_set)
        if bits is None:
            namespace = label_set.namespace
            there = self._of_namespace.get(namespace)
            if there is None:
                named = as_bits(self._named.get(namespace, ()), self._size)
                listed = (
                    self._in_namespace.matching(self._namespaces[namespace]) if namespace in self._namespaces else 0
                )
                there = self._of_namespace[namespace] = named | listed | self._anywhere
            bits = there & self._selected.matching(label_set.labels) if there else 0
            # Most label sets match the same terms, so they share one integer.
            bits = self._bits[label_set] = self._shared.setdefault(bits, bits)
        return bits

    def _number(self, bits: int, key: str) -> int:
        found = self._numbers.get((bits, key))
        if found is None:
            of_key = self._of_key.get(key)
            if of_key is None:
                of_key = self._of_key[key] = as_bits(self._by_key[key], self._size)
            bits_of_key = bits & of_key
            found = int(bits_of_key > 0) if self._weights is None else self._weights.of(bits_of_key)
            self._numbers[bits, key] = found
        return found


def _index(selectors: Iterable[LabelSelector]) -> RequirementIndex:
    """Index the selectors. A selector that never matches is None in the index."""
    return RequirementIndex(None if each.nothing else each.requirements for each in selectors)


@dataclass(frozen=True, slots=True)
class IncomingPodTerm:
    """A term of the incoming pod. Its namespaceSelector is resolved to the existing namespaces."""

    topology_key: str
    selector: LabelSelector
    namespaces: frozenset[str]
    any_namespace: bool

    def matches(self, label_set: LabelSet) -> bool:
        if not self.any_namespace and label_set.namespace not in self.namespaces:
            return False
        return self.selector.matches(label_set.labels)

    def counter(self) -> PodCounter:
        return pod_counter(None if self.any_namespace else self.namespaces, self.selector)


def _counter_of_all(terms: tuple[IncomingPodTerm, ...]) -> PodCounter:
    if len(terms) == 1:
        return terms[0].counter()
    restricted = [term.namespaces for term in terms if not term.any_namespace]
    namespaces = frozenset.intersection(*restricted) if restricted else None
    selectors = dict.fromkeys(term.selector for term in terms)
    if any(selector.nothing for selector in selectors):
        return pod_counter(namespaces, NOTHING)
    return pod_counter(namespaces, LabelSelector(tuple(each for found in selectors for each in found.requirements)))


def resolve_term(term: PodAffinityTerm, namespaces: Mapping[str, Labels]) -> IncomingPodTerm:
    """Resolve the term as kube-scheduler does: it lists the namespaces that the selector matches, and then matches the
    selector against empty labels. So a selector that matches empty labels (NotIn, DoesNotExist, `{}`) means every
    namespace."""
    selector = term.namespace_selector
    if selector.nothing or selector.everything:
        return IncomingPodTerm(term.topology_key, term.selector, term.namespaces, selector.everything)
    listed = {name for name, labels in namespaces.items() if selector.matches(labels)}
    return IncomingPodTerm(term.topology_key, term.selector, term.namespaces | listed, selector.matches(NO_LABELS))


def affected_nodes(
    counters: Collection[PodCounter],
    counts: Callable[[PodSpec], object],
    delta: SnapshotDelta,
    many: ManyTerms | None = None,
) -> Collection[str]:
    names: list[Collection[str]] = []
    for pod_moves in delta.pod_moves:
        for counter in counters:
            names += [pod_moves.by_label_set[found] for found in counter.matching(pod_moves.by_label_set)]
        if many is not None:
            names += [nodes for label_set, nodes in pod_moves.by_label_set.items() if many.matches(label_set)]
        names += [nodes for spec, nodes in pod_moves.by_spec.items() if counts(spec)]
    return delta.reset.union(*names)


class Terms:
    """The required terms for pods of one shape: the pod's own terms, and terms of other pods that match the pod."""

    def __init__(self, pod: Pod, snapshot: Snapshot) -> None:
        affinity = pod.spec.pod_affinity
        self.pod = pod
        self.namespaces = snapshot.namespaces
        self.namespace_labels: Labels = snapshot.namespaces.get(pod.namespace, NO_LABELS)
        self.affinity = tuple(resolve_term(term, snapshot.namespaces) for term in affinity.required)
        self.affinity_keys = dict.fromkeys(term.topology_key for term in self.affinity)
        anti_required = tuple(dict.fromkeys(affinity.anti_required))
        self.anti_affinity_keys = dict.fromkeys(term.topology_key for term in anti_required)
        self._many = ManyTerms(anti_required, snapshot.namespaces) if len(anti_required) > FEW else None
        self.anti_affinity: tuple[IncomingPodTerm, ...] = ()
        if self._many is None:
            self.anti_affinity = tuple(resolve_term(term, snapshot.namespaces) for term in anti_required)
        self.matches_itself = bool(self.affinity) and all(term.matches(pod.label_set) for term in self.affinity)
        self._affinity_counter = _counter_of_all(self.affinity)
        self._anti_affinity_counters = tuple(term.counter() for term in self.anti_affinity)
        self._existing_anti_affinity_keys: dict[PodSpec, tuple[str, ...]] = {}

    @property
    def is_oversized(self) -> bool:
        return any(
            counter is not None and counter.is_oversized
            for counter in (self._affinity_counter, self._many, *self._anti_affinity_counters)
        )

    def affected_nodes(self, delta: SnapshotDelta) -> Collection[str]:
        counters = (
            (self._affinity_counter, *self._anti_affinity_counters) if self.affinity else self._anti_affinity_counters
        )
        return affected_nodes(counters, self._keys_of, delta, self._many)

    def over(self, snapshot: Snapshot) -> tuple[TopologyCounts[str], TopologyCounts[str], TopologyCounts[str]]:
        """Return the counts for `State` over all nodes. Nodes are read only if a pod in the cluster may count."""
        nodes, pod_index = snapshot.nodes.values(), snapshot.pod_index
        some_anti_affinity = [counter.matches_one_of(pod_index) for counter in self._anti_affinity_counters]
        affinity: list[tuple[str, str, int]] = []
        if self.affinity and self._affinity_counter.matches_one_of(pod_index):
            for node in nodes:
                affinity += self.affinity_pairs(node, classified=True)
        anti_affinity: list[tuple[str, str, int]] = []
        if any(some_anti_affinity) or self._many is not None:
            for node in nodes:
                anti_affinity += self.anti_affinity_pairs(node, classified=True)
        existing_anti_affinity: list[tuple[str, str, int]] = []
        if any(self._keys_of(spec) for spec in pod_index.specs):
            for node in nodes:
                if node.usage.specs_with_anti_affinity:
                    existing_anti_affinity += self.existing_anti_affinity_pairs(node)
        return TopologyCounts.of(affinity), TopologyCounts.of(anti_affinity), TopologyCounts.of(existing_anti_affinity)

    def affinity_pairs(self, node: NodeInfo, *, classified: bool = False) -> Iterable[tuple[str, str, int]]:
        """Count the node's pods that match all affinity terms, by topology key. classified: see PodCounter.count."""
        number = self._affinity_counter.count(node.usage, classified=classified) if self.affinity else 0
        return _pairs(self.affinity_keys, node, number) if number else ()

    def anti_affinity_pairs(self, node: NodeInfo, *, classified: bool = False) -> Iterable[tuple[str, str, int]]:
        """Count the node's pods that match anti-affinity terms, by topology key. classified: see PodCounter.count."""
        if self._many is not None:
            return self._many.pairs(node)
        pairs: list[tuple[str, str, int]] = []
        for term, counter in zip(self.anti_affinity, self._anti_affinity_counters, strict=True):
            number = counter.count(node.usage, classified=classified)
            if number:
                pairs += _pairs((term.topology_key,), node, number)
        return pairs

    def existing_anti_affinity_pairs(self, node: NodeInfo) -> Iterable[tuple[str, str, int]]:
        """Count the node's pods whose anti-affinity matches the pod, by topology key."""
        pairs = []
        for spec, number in node.usage.specs_with_anti_affinity.items():
            for key in self._keys_of(spec):
                if key in node.labels:
                    pairs.append((key, node.labels[key], number))
        return pairs

    def of_one(self, pod: Pod, node: NodeInfo) -> tuple[Pairs, Pairs, Pairs]:
        affinity = self.affinity_keys if self.affinity and self._affinity_counter.matches(pod.label_set) else ()
        if self._many is not None:
            anti_affinity = self._many.pairs_of_one(pod.label_set, node)
        else:
            anti_affinity = _pairs(
                [
                    term.topology_key
                    for term, counter in zip(self.anti_affinity, self._anti_affinity_counters, strict=True)
                    if counter.matches(pod.label_set)
                ],
                node,
                1,
            )
        keys = self._keys_of(pod.spec) if pod.spec.pod_affinity.anti_required else ()
        if not affinity and not anti_affinity and not keys:
            return NO_PAIRS  # the usual result: preemption calls this for every pod of a node
        existing_anti_affinity = [(key, node.labels[key], 1) for key in keys if key in node.labels]
        return (
            sum_pairs(_pairs(affinity, node, 1)),
            sum_pairs(anti_affinity),
            sum_pairs(existing_anti_affinity),
        )

    def _keys_of(self, spec: PodSpec) -> tuple[str, ...]:
        """Return the topology keys of the spec's required anti-affinity terms that match the incoming pod."""
        keys = self._existing_anti_affinity_keys.get(spec)
        if keys is None:
            pod, labels, terms = self.pod, self.namespace_labels, spec.pod_affinity.anti_required
            matching = (each for each in terms if each.matches(pod.namespace, labels, pod.labels))
            keys = self._existing_anti_affinity_keys[spec] = tuple(each.topology_key for each in matching)
        return keys


def _pairs(keys: Collection[str], node: NodeInfo, number: int) -> list[tuple[str, str, int]]:
    labels = node.labels
    found = keys if len(keys) <= len(labels) else [key for key in labels if key in keys]
    return [(key, labels[key], number) for key in found if key in labels]


def sum_pairs(pairs: Iterable[tuple[str, str, int]]) -> Pairs:
    found: Pairs = defaultdict(int)
    for key, value, number in pairs:
        found[key, value] += number
    return found
