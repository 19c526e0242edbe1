"""InterPodAffinity, filter: pods that must be together, and pods that must not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from berth.scheduling.fields.selectors import Labels
from berth.scheduling.framework.plugin import ClusterFilter
from berth.scheduling.framework.status import SUCCESS, Status, unresolvable, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.inter_pod_affinity.terms import Pairs, Terms, summed
from berth.scheduling.plugins.pod_counts import TopologyCounts
from berth.scheduling.snapshot.history import Step
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "InterPodAffinity"

# Given when the pods that the pod must be near are not there. Evictions bring nobody.
REASON_AFFINITY = "node(s) didn't match pod affinity rules"
# Given when a pod is there that the pod must be away from.
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
# Given when a pod is there that must be away from the pod.
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

_NO_AFFINITY = unresolvable(NAME, REASON_AFFINITY)
_ANTI_AFFINITY = unschedulable(NAME, REASON_ANTI_AFFINITY)
_EXISTING_ANTI_AFFINITY = unschedulable(NAME, REASON_EXISTING_ANTI_AFFINITY)


@dataclass(frozen=True, slots=True)
class State(ClusterFilter):
    """Where pods are that matter: by the affinity, by the anti-affinity, and those whose anti-affinity means the pod.

    extra_*: what pods that are only assumed to come or go add, on top. away_from, barred_from: where the pod cannot be
    for one and for the other, when nothing is assumed.
    """

    terms: Terms
    near: TopologyCounts[str]
    away: TopologyCounts[str]
    barring: TopologyCounts[str]
    extra_near: Pairs = field(default_factory=dict)
    extra_away: Pairs = field(default_factory=dict)
    extra_barring: Pairs = field(default_factory=dict)
    away_from: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)
    barred_from: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "away_from", tuple((key, self.away.values(key)) for key in self.away))
        object.__setattr__(self, "barred_from", tuple((key, self.barring.values(key)) for key in self.barring))

    @classmethod
    def of(cls, terms: Terms, snapshot: Snapshot) -> State:
        """Count over all nodes."""
        return cls(terms, *terms.over(snapshot))

    @property
    def skips(self) -> bool:
        return not self.terms.near and not self.terms.away and not self.barring

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        if self.terms.near and not self._is_near(labels):
            return _NO_AFFINITY
        if self.extra_away or self.extra_barring:
            return self._filter_assumed(labels)
        for key, values in self.away_from:
            if labels.get(key) in values:
                return _ANTI_AFFINITY
        for key, values in self.barred_from:
            if labels.get(key) in values:
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _filter_assumed(self, labels: Labels) -> Status:
        for term in self.terms.away:
            key = term.topology_key
            if key in labels and _number(self.away, self.extra_away, key, labels[key]) > 0:
                return _ANTI_AFFINITY
        for key in (*self.barring, *(key for key, _ in self.extra_barring)):
            if key in labels and _number(self.barring, self.extra_barring, key, labels[key]) > 0:
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _is_near(self, labels: Labels) -> bool:
        present = True
        for term in self.terms.near:
            value = labels.get(term.topology_key)
            if value is None:
                return False
            present = present and _number(self.near, self.extra_near, term.topology_key, value) > 0
        # The first of pods that belong together: nobody else matches, and it matches its own terms.
        return present or (self.terms.matches_itself and self._is_first())

    def _is_first(self) -> bool:
        if not self.extra_near:
            return not self.near
        return not any(
            _number(self.near, self.extra_near, key, value)
            for key, value in {
                *self.extra_near,
                *((key, value) for key in self.near for value in self.near.values(key)),
            }
        )

    def moved_to(self, snapshot: Snapshot, step: Step) -> tuple[ClusterFilter, Collection[str] | None]:
        if snapshot.namespaces is not self.terms.namespaces:
            return State.of(Terms(self.terms.pod, snapshot), snapshot), None
        terms = Terms(self.terms.pod, snapshot) if self.terms.worn else self.terms
        names = terms.concern(step)
        if not names:
            return self if terms is self.terms else replace(self, terms=terms), ()
        near, away, barring = self._changes(terms, names, step, snapshot)
        now_near, turned_near = self.near.changed(near)
        now_away, turned_away = self.away.changed(away)
        now_barring, turned_barring = self.barring.changed(barring)
        later = State(terms, now_near, now_away, now_barring)
        if later.skips is not self.skips or (terms.matches_itself and bool(self.near) is not bool(now_near)):
            return later, None
        turned = turned_near | turned_away | turned_barring
        return later, [name for key, value in turned for name in snapshot.names_in(key, value)]

    def _changes(
        self, terms: Terms, names: Collection[str], step: Step, snapshot: Snapshot
    ) -> tuple[Pairs, Pairs, Pairs]:
        near, away, barring = summed(()), summed(()), summed(())
        own = bool(terms.near or terms.away)
        for name in names:
            before, after = step.before[name], snapshot.nodes.get(name)
            # Most pods that come or go have no anti-affinity: then both have the very same counts of it.
            barred = (
                before is None
                or after is None
                or before.usage.anti_affine is not after.usage.anti_affine
                or before.labels != after.labels
            )
            for node, sign in ((before, -1), (after, 1)) if own or barred else ():
                if node is None:
                    continue
                for counts, pairs in (
                    (near, terms.near_pairs(node) if terms.near else ()),
                    (away, terms.away_pairs(node) if terms.away else ()),
                    (barring, terms.barring_pairs(node) if barred else ()),
                ):
                    for key, value, number in pairs:
                        counts[key, value] += sign * number
        return near, away, barring

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def _adjusted(self, pod: Pod, node: NodeInfo, sign: int) -> ClusterFilter:
        near, away, barring = self.terms.of_one(pod, node)
        if not near and not away and not barring:
            return self
        return replace(
            self,
            extra_near=_plus(self.extra_near, near, sign),
            extra_away=_plus(self.extra_away, away, sign),
            extra_barring=_plus(self.extra_barring, barring, sign),
        )


def _number(counts: TopologyCounts[str], extra: Pairs, key: str, value: str) -> int:
    number = counts.values(key).get(value, 0)
    return number + extra.get((key, value), 0) if extra else number


def _plus(extra: Pairs, more: Pairs, sign: int) -> Pairs:
    if not more:
        return extra
    found = dict(extra)
    for pair, number in more.items():
        found[pair] = found.get(pair, 0) + sign * number
    return found


def pre_filter(pod: Pod, snapshot: Snapshot) -> State | Status:
    """The state for this pod; rejected for every node when one of its terms cannot be parsed."""
    if pod.spec.pod_affinity.invalid is not None:
        return unresolvable(NAME, f"parsing pod: {pod.spec.pod_affinity.invalid.cause}")
    return State.of(Terms(pod, snapshot), snapshot)
