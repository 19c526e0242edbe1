"""Match very many terms of one pod at once: the number that a pod on a node counts, by topology key.

The cost follows the pods and the labels of the nodes, and not the number of terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from berth.scheduling.fields.pod_affinity import PodAffinityTerm
from berth.scheduling.fields.requirement_index import RequirementIndex, WeightSum, as_bits
from berth.scheduling.fields.selectors import Labels, LabelSelector
from berth.scheduling.objects import LabelSet, NodeInfo

NO_LABELS: Labels = {}

MAX_LABEL_SETS = 100_000
"""Jobs and stateful sets give each pod its own labels. At most this many are remembered."""


class ManyTerms:
    """Terms with weights. It remembers the terms that each label set matches; threads may share it.

    For a topology key, a label set counts the sum of the weights of those terms of the key that match it. Without
    weights it counts 1 if at least one of these terms matches.
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
        # See resolve_term: a selector that no labels at all satisfy means every namespace.
        self._anywhere = self._in_namespace.matching(NO_LABELS)
        self._weights = None if weights is None else WeightSum(weights)
        self._bits: dict[LabelSet, int] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._shared: dict[int, int] = {}

    @property
    def is_oversized(self) -> bool:
        """Return whether the cache of label sets has grown so much that a new object should replace this one."""
        return len(self._bits) > MAX_LABEL_SETS

    def matches(self, label_set: LabelSet) -> bool:
        """Return whether one of the terms matches a pod with these labels."""
        return bool(self._matching(label_set))

    def keys_on(self, labels: Labels) -> Iterable[str]:
        """The topology keys of the terms that are among these labels of a node."""
        return self._by_key.keys() & labels.keys()

    def pairs(self, node: NodeInfo) -> list[tuple[str, str, int]]:
        """Return topology keys, each with its value on the node and the number that the node's pods count for it."""
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
            # Most label sets match the same terms: one integer for all of them.
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
    """Index the selectors. None stands for a selector that matches nothing."""
    return RequirementIndex(None if each.nothing else each.requirements for each in selectors)
