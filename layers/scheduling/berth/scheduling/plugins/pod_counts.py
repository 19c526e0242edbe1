"""Counts of pods: by selector on a node, and by topology value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from berth.scheduling.fields.selectors import LabelSelector
from berth.scheduling.objects import LabelSet
from berth.scheduling.objects.usage import Usage
from berth.scheduling.snapshot.indexes import PodIndex

K = TypeVar("K", bound=Hashable)


class TopologyCounts(Generic[K]):
    """Never changed after it was filled. A pair with the number 0 is not in it."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: dict[K, dict[str, int]] | None = None) -> None:
        self._numbers: dict[K, dict[str, int]] = {} if numbers is None else numbers

    @classmethod
    def of(cls, contributions: Iterable[tuple[K, str, int]]) -> TopologyCounts[K]:
        """The sums."""
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
        """The numbers of one key."""
        return self._numbers.get(key, {})

    def changed(self, contributions: Mapping[tuple[K, str], int]) -> tuple[TopologyCounts[K], set[tuple[K, str]]]:
        """With these added, and the pairs that have come or gone by it. Copies the keys that change."""
        numbers = dict(self._numbers)
        fresh: set[K] = set()
        turned: set[tuple[K, str]] = set()
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
                turned.add((key, value))
        return TopologyCounts(numbers), turned


MAX_SEEN = 100_000
"""Pods come and go with labels of their own (of jobs, of stateful sets), and are remembered. Up to this many."""

_FEW = 8


class PodCounter:
    """How many of a node's pods have labels that match. What it has seen only grows: it may be shared.

    namespaces: where the pods are that may match; None for anywhere.
    """

    __slots__ = ("__weakref__", "_matches", "_matching", "_namespaces", "_seen")

    def __init__(self, matches: Callable[[LabelSet], bool], namespaces: frozenset[str] | None = None) -> None:
        self._matches, self._namespaces = matches, namespaces
        self._seen: set[LabelSet] = set()
        self._matching: set[LabelSet] = set()

    @property
    def is_oversized(self) -> bool:
        """Whether it has seen so much that it should be made anew."""
        return len(self._seen) > MAX_SEEN

    def matches(self, label_set: LabelSet) -> bool:
        """Whether these labels do."""
        if label_set not in self._seen:
            self.see((label_set,))
        return label_set in self._matching

    def matching(self, label_sets: Mapping[LabelSet, object]) -> Set[LabelSet]:
        """Those of these that do."""
        self.see(label_sets)
        # Of a set and a dictionary's keys, the smaller one is gone over.
        return self._matching & label_sets.keys()

    def see(self, label_sets: Iterable[LabelSet]) -> None:
        """Match those that it has not seen. Pods elsewhere are not remembered: there are many."""
        seen, namespaces = self._seen, self._namespaces
        unseen = [
            label_set
            for label_set in label_sets
            if label_set not in seen and (namespaces is None or label_set.namespace in namespaces)
        ]
        if unseen:
            # In this order: what another thread finds seen must be complete.
            self._matching.update([label_set for label_set in unseen if self._matches(label_set)])
            self._seen.update(unseen)

    def matches_one_of(self, pod_index: PodIndex) -> bool:
        """Whether some pod there may match. Then its label set has been seen, and so has every other that matches."""
        self.see(pod_index.label_sets(self._namespaces))
        return bool(self._matching)

    def count(self, usage: Usage, *, seen: bool = False) -> int:
        """All matching pods of the node. seen: whether those that match have been seen."""
        label_sets, matching = usage.label_sets, self._matching
        if not seen:
            self.see(label_sets)
        if not matching:
            return 0
        if len(matching) <= _FEW:
            total = 0
            for label_set in tuple(matching):
                if label_set in label_sets:
                    total += label_sets[label_set]
            return total
        return sum(number for label_set, number in label_sets.items() if label_set in matching)

    def count_running(self, usage: Usage, *, seen: bool = False) -> int:
        """Those of them that are not being deleted."""
        total = self.count(usage, seen=seen)
        if total and usage.terminating:
            total -= sum(number for label_set, number in usage.terminating.items() if label_set in self._matching)
        return total


_SHARED: WeakValueDictionary[tuple[frozenset[str] | None, LabelSelector], PodCounter] = WeakValueDictionary()


def pod_counter(namespaces: frozenset[str] | None, selector: LabelSelector) -> PodCounter:
    """Of the pods in these namespaces, None for any, that the selector matches. The one there is, if there is one."""
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
