"""Counting a node's pods by selector.

A selector is evaluated once for each distinct LabelSet, not once for each pod: over all nodes of a snapshot, over the
snapshots that follow, and for all pods and plugins that use the same selector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from weakref import WeakValueDictionary

from berth.scheduling.census import Census
from berth.scheduling.objects import LabelSet
from berth.scheduling.objects.usage import Usage
from berth.scheduling.selectors import LabelSelector

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
    def worn(self) -> bool:
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

    def matches_one_of(self, census: Census) -> bool:
        """Whether some pod there may match. Then its label set has been seen, and so has every other that matches."""
        self.see(census.label_sets(self._namespaces))
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
    if found is None or found.worn:
        found = _SHARED[key] = PodCounter(
            lambda label_set: (
                (namespaces is None or label_set.namespace in namespaces) and selector.matches(label_set.labels)
            ),
            namespaces,
        )
    return found
