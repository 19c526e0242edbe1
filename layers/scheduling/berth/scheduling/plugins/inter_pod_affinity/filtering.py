"""InterPodAffinity, filter: required affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from berth.scheduling.fields.requirements import Labels
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, Status, unresolvable, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.inter_pod_affinity.terms import Pairs, Terms, sum_pairs
from berth.scheduling.plugins.pod_counts import TopologyCounts
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "InterPodAffinity"

# Given when the topology has no pod that matches the pod's affinity. Evictions do not change that.
REASON_AFFINITY = "node(s) didn't match pod affinity rules"
# Given when a pod matches the pod's anti-affinity.
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
# Given when the anti-affinity of another pod matches the pod.
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

_NO_AFFINITY = unresolvable(NAME, REASON_AFFINITY, reason_code=ReasonCode.POD_AFFINITY_MISMATCH)
_ANTI_AFFINITY = unschedulable(NAME, REASON_ANTI_AFFINITY, reason_code=ReasonCode.POD_ANTI_AFFINITY_CONFLICT)
_EXISTING_ANTI_AFFINITY = unschedulable(
    NAME, REASON_EXISTING_ANTI_AFFINITY, reason_code=ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT
)


@dataclass(frozen=True, slots=True)
class State(ClusterFilter):
    """The counts of matching pods, as in kube-scheduler: affinity, anti-affinity and existing pods' anti-affinity.

    extra_*: the counts of pods that preemption tries to add or remove. *_values: the topology values that reject the
    pod, without these extra counts.
    """

    terms: Terms
    affinity: TopologyCounts[str]
    anti_affinity: TopologyCounts[str]
    existing_anti_affinity: TopologyCounts[str]
    extra_affinity: Pairs = field(default_factory=dict)
    extra_anti_affinity: Pairs = field(default_factory=dict)
    extra_existing_anti_affinity: Pairs = field(default_factory=dict)
    anti_affinity_values: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)
    existing_anti_affinity_values: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "anti_affinity_values", tuple((key, self.anti_affinity.values(key)) for key in self.anti_affinity)
        )
        object.__setattr__(
            self,
            "existing_anti_affinity_values",
            tuple((key, self.existing_anti_affinity.values(key)) for key in self.existing_anti_affinity),
        )

    @classmethod
    def of(cls, terms: Terms, snapshot: Snapshot) -> State:
        return cls(terms, *terms.over(snapshot))

    @property
    def skips(self) -> bool:
        return not self.terms.affinity and not self.terms.anti_affinity_keys and not self.existing_anti_affinity

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        if self.terms.affinity and not self._is_affinity(labels):
            return _NO_AFFINITY
        if self.extra_anti_affinity or self.extra_existing_anti_affinity:
            return self._filter_assumed(labels)
        for key, values in self.anti_affinity_values:
            if labels.get(key) in values:
                return _ANTI_AFFINITY
        for key, values in self.existing_anti_affinity_values:
            if labels.get(key) in values:
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _filter_assumed(self, labels: Labels) -> Status:
        keys = self.terms.anti_affinity_keys
        for key in keys if len(keys) <= len(labels) else labels.keys() & keys.keys():
            if key in labels and _number(self.anti_affinity, self.extra_anti_affinity, key, labels[key]) > 0:
                return _ANTI_AFFINITY
        for key in (*self.existing_anti_affinity, *(key for key, _ in self.extra_existing_anti_affinity)):
            if (
                key in labels
                and _number(self.existing_anti_affinity, self.extra_existing_anti_affinity, key, labels[key]) > 0
            ):
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _is_affinity(self, labels: Labels) -> bool:
        present = True
        for key in self.terms.affinity_keys:
            value = labels.get(key)
            if value is None:
                return False
            present = present and _number(self.affinity, self.extra_affinity, key, value) > 0
        # The first pod of a group is accepted: no pod in the cluster matches, and the pod matches its own terms.
        return present or (self.terms.matches_itself and self._is_first())

    def _is_first(self) -> bool:
        if not self.extra_affinity:
            return not self.affinity
        return not any(
            _number(self.affinity, self.extra_affinity, key, value)
            for key, value in {
                *self.extra_affinity,
                *((key, value) for key in self.affinity for value in self.affinity.values(key)),
            }
        )

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        if snapshot.namespaces is not self.terms.namespaces:
            return State.of(Terms(self.terms.pod, snapshot), snapshot), None
        terms = Terms(self.terms.pod, snapshot) if self.terms.is_oversized else self.terms
        names = terms.affected_nodes(delta)
        if not names:
            return self if terms is self.terms else replace(self, terms=terms), ()
        affinity, anti_affinity, existing_anti_affinity = self._changes(terms, names, delta, snapshot)
        now_affinity, changed_affinity = self.affinity.changed(affinity)
        now_anti_affinity, changed_anti_affinity = self.anti_affinity.changed(anti_affinity)
        now_existing_anti_affinity, changed_existing_anti_affinity = self.existing_anti_affinity.changed(
            existing_anti_affinity
        )
        later = State(terms, now_affinity, now_anti_affinity, now_existing_anti_affinity)
        if later.skips is not self.skips or (terms.matches_itself and bool(self.affinity) is not bool(now_affinity)):
            return later, None
        changed_pairs = changed_affinity | changed_anti_affinity | changed_existing_anti_affinity
        return later, [name for key, value in changed_pairs for name in snapshot.names_in(key, value)]

    def _changes(
        self, terms: Terms, names: Collection[str], delta: SnapshotDelta, snapshot: Snapshot
    ) -> tuple[Pairs, Pairs, Pairs]:
        affinity, anti_affinity, existing_anti_affinity = sum_pairs(()), sum_pairs(()), sum_pairs(())
        own = bool(terms.affinity or terms.anti_affinity_keys)
        for name in names:
            before, after = delta.before[name], snapshot.nodes.get(name)
            # Most pods do not have anti-affinity. Then the node shares one object of these counts before and after.
            barred = (
                before is None
                or after is None
                or before.usage.specs_with_anti_affinity is not after.usage.specs_with_anti_affinity
                or before.labels != after.labels
            )
            for node, sign in ((before, -1), (after, 1)) if own or barred else ():
                if node is None:
                    continue
                for counts, pairs in (
                    (affinity, terms.affinity_pairs(node) if terms.affinity else ()),
                    (anti_affinity, terms.anti_affinity_pairs(node) if terms.anti_affinity_keys else ()),
                    (existing_anti_affinity, terms.existing_anti_affinity_pairs(node) if barred else ()),
                ):
                    for key, value, number in pairs:
                        counts[key, value] += sign * number
        return affinity, anti_affinity, existing_anti_affinity

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def _adjusted(self, pod: Pod, node: NodeInfo, sign: int) -> ClusterFilter:
        affinity, anti_affinity, existing_anti_affinity = self.terms.of_one(pod, node)
        if not affinity and not anti_affinity and not existing_anti_affinity:
            return self
        return replace(
            self,
            extra_affinity=_plus(self.extra_affinity, affinity, sign),
            extra_anti_affinity=_plus(self.extra_anti_affinity, anti_affinity, sign),
            extra_existing_anti_affinity=_plus(self.extra_existing_anti_affinity, existing_anti_affinity, sign),
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
    """Return the state for this pod; a Status that rejects every node if one of the pod's terms cannot be parsed."""
    if pod.spec.pod_affinity.invalid is not None:
        return unresolvable(
            NAME, f"parsing pod: {pod.spec.pod_affinity.invalid.cause}", reason_code=ReasonCode.POD_AFFINITY_INVALID
        )
    return State.of(Terms(pod, snapshot), snapshot)
