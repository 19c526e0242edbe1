"""Counts pods: on a node by selector, and by topology value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from berth.scheduling.fields.selectors import LabelSelector
from berth.scheduling.objects import LabelSet
from berth.scheduling.objects.node import Usage
from berth.scheduling.snapshot.indexes import PodIndex

K = TypeVar("K", bound=Hashable)


class TopologyCounts(Generic[K]):
    """Numbers by key and topology value. Immutable. `changed` leaves out pairs whose number becomes 0."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: dict[K, dict[str, int]] | None = None) -> None:
        self._numbers: dict[K, dict[str, int]] = {} if numbers is None else numbers

    @classmethod
    def of(cls, contributions: Iterable[tuple[K, str, int]]) -> TopologyCounts[K]:
        numbers: dict[K, dict[str, int]] = {}
        for key, value, number in contributions:
            values = numbers.setdefault(key, {})
            values[value] = values.get(value, 0) + number
        return cls(numbers)

    def __bool__(self) -> bool:
        return any(self._numbers.values())

    def __iter__(self) -> Iterator[K]:
        return iter(self._numbers)

    def values(self, key: K) -> Mapping[str, int]:
        return self._numbers.get(key, {})

    def changed(self, contributions: Mapping[tuple[K, str], int]) -> tuple[TopologyCounts[K], set[tuple[K, str]]]:
        """Return the counts with these contributions added, and the pairs that were added or removed. Only changed keys
        are copied."""
        numbers = dict(self._numbers)
        fresh: set[K] = set()
        changed_pairs: set[tuple[K, str]] = set()
        for (key, value), number in contributions.items():
            if not number:
                continue
            if key not in fresh:
                numbers[key] = dict(numbers.get(key, {}))
                fresh.add(key)
            values = numbers[key]
            before = values.get(value, 0)
            if before + number:
                values[value] = before + number
            else:
                del values[value]
            if not before or not before + number:
                changed_pairs.add((key, value))
        return TopologyCounts(numbers), changed_pairs


MAX_CLASSIFIED = 100_000
"""The maximum number of label sets that a counter caches: Jobs and StatefulSets give each pod its own labels."""

_FEW = 8


class PodCounter:
    """Counts a node's pods with matching labels. It caches which label sets match. Thread-safe. namespaces: the
    namespaces whose pods may match; None: all namespaces."""

    __slots__ = ("__weakref__", "_classified", "_matches", "_matching", "_namespaces")

    def __init__(self, matches: Callable[[LabelSet], bool], namespaces: frozenset[str] | None = None) -> None:
        self._matches, self._namespaces = matches, namespaces
        self._classified: set[LabelSet] = set()
        self._matching: set[LabelSet] = set()

    @property
    def is_oversized(self) -> bool:
        return len(self._classified) > MAX_CLASSIFIED

    def matches(self, label_set: LabelSet) -> bool:
        if label_set not in self._classified:
            self.classify((label_set,))
        return label_set in self._matching

    def matching(self, label_sets: Mapping[LabelSet, object]) -> Set[LabelSet]:
        self.classify(label_sets)
        # `&` iterates over the smaller set.
        return self._matching & label_sets.keys()

    def classify(self, label_sets: Iterable[LabelSet]) -> None:
        """Match the label sets that are not cached yet. Leave out other namespaces, which may have many label sets."""
        classified, namespaces = self._classified, self._namespaces
        unseen = [
            label_set
            for label_set in label_sets
            if label_set not in classified and (namespaces is None or label_set.namespace in namespaces)
        ]
        if unseen:
            # Add to `_matching` first: another thread reads it once a label set is classified.
            self._matching.update([label_set for label_set in unseen if self._matches(label_set)])
            self._classified.update(unseen)

    def matches_one_of(self, pod_index: PodIndex) -> bool:
        """Return whether a pod in the index may match. This classifies the label sets of the counter's namespaces."""
        self.classify(pod_index.label_sets(self._namespaces))
        return bool(self._matching)

    def count(self, usage: Usage, *, classified: bool = False) -> int:
        """Return the number of matching pods. classified: whether the node's label sets are classified already."""
        label_sets, matching = usage.label_sets, self._matching
        if not classified:
            self.classify(label_sets)
        if not matching:
            return 0
        if len(matching) <= _FEW:
            total = 0
            for label_set in tuple(matching):
                if label_set in label_sets:
                    total += label_sets[label_set]
            return total
        return sum(number for label_set, number in label_sets.items() if label_set in matching)

    def count_running(self, usage: Usage, *, classified: bool = False) -> int:
        total = self.count(usage, classified=classified)
        if total and usage.terminating:
            total -= sum(number for label_set, number in usage.terminating.items() if label_set in self._matching)
        return total


_SHARED: WeakValueDictionary[tuple[frozenset[str] | None, LabelSelector], PodCounter] = WeakValueDictionary()


def pod_counter(namespaces: frozenset[str] | None, selector: LabelSelector) -> PodCounter:
    """Return the shared counter of pods that the selector matches in these namespaces; None: in all namespaces."""
    key = (namespaces, selector)
    found = _SHARED.get(key)
    if found is None or found.is_oversized:
        found = _SHARED[key] = PodCounter(
            lambda label_set: (
                (namespaces is None or label_set.namespace in namespaces) and selector.matches(label_set.labels)
            ),
            namespaces,
        )
    return found
