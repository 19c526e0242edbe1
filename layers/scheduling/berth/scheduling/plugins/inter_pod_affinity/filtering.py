"""InterPodAffinity, filter: required affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from berth.scheduling.fields.requirements import Labels
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, Status, unresolvable, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.inter_pod_affinity.terms import NO_PAIRS, Pairs, Terms, sum_pairs
from berth.scheduling.plugins.pod_counts import TopologyCounts
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "InterPodAffinity"

# The reason if the node's domain lacks a pod that the pod's affinity requires. Evictions do not change that.
REASON_AFFINITY = "node(s) didn't match pod affinity rules"
# The reason if a pod in the node's domain matches the pod's anti-affinity.
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
# The reason if the anti-affinity of another pod in the node's domain matches the pod.
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

_NO_AFFINITY = unresolvable(NAME, REASON_AFFINITY, reason_code=ReasonCode.POD_AFFINITY_MISMATCH)
_ANTI_AFFINITY = unschedulable(NAME, REASON_ANTI_AFFINITY, reason_code=ReasonCode.POD_ANTI_AFFINITY_CONFLICT)
_EXISTING_ANTI_AFFINITY = unschedulable(
    NAME, REASON_EXISTING_ANTI_AFFINITY, reason_code=ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT
)


AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = range(3)


@dataclass(frozen=True, slots=True)
class State(ClusterFilter):
    """The state of the filter. counts: the numbers of matching pods for affinity, anti-affinity and existing pods'
    anti-affinity. extra: the changes of these numbers by pods that a dry run adds or removes. *_values: the topology
    values that reject the pod, without `extra`."""

    terms: Terms
    counts: tuple[TopologyCounts[str], ...]
    extra: tuple[Pairs, ...] = NO_PAIRS
    anti_affinity_values: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)
    existing_anti_affinity_values: tuple[tuple[str, Mapping[str, int]], ...] = field(init=False)

    def __post_init__(self) -> None:
        _, anti_affinity, existing = self.counts
        for name, counts in (("anti_affinity_values", anti_affinity), ("existing_anti_affinity_values", existing)):
            object.__setattr__(self, name, tuple((key, counts.values(key)) for key in counts))

    @classmethod
    def of(cls, terms: Terms, snapshot: Snapshot) -> State:
        return cls(terms, terms.over(snapshot))

    @property
    def skips(self) -> bool:
        terms = self.terms
        return not terms.affinity and not terms.anti_affinity_keys and not self.counts[EXISTING_ANTI_AFFINITY]

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        if self.terms.affinity and not self._is_affinity(labels):
            return _NO_AFFINITY
        if self.extra is not NO_PAIRS:
            return self._filter_with_extra(labels)
        for key, values in self.anti_affinity_values:
            if labels.get(key) in values:
                return _ANTI_AFFINITY
        for key, values in self.existing_anti_affinity_values:
            if labels.get(key) in values:
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _filter_with_extra(self, labels: Labels) -> Status:
        keys = self.terms.anti_affinity_keys
        for key in keys if len(keys) <= len(labels) else labels.keys() & keys.keys():
            if key in labels and self._number(ANTI_AFFINITY, key, labels[key]) > 0:
                return _ANTI_AFFINITY
        added = (key for key, _ in self.extra[EXISTING_ANTI_AFFINITY])
        for key in (*self.counts[EXISTING_ANTI_AFFINITY], *added):
            if key in labels and self._number(EXISTING_ANTI_AFFINITY, key, labels[key]) > 0:
                return _EXISTING_ANTI_AFFINITY
        return SUCCESS

    def _is_affinity(self, labels: Labels) -> bool:
        present = True
        for key in self.terms.affinity_keys:
            value = labels.get(key)
            if value is None:
                return False
            present = present and self._number(AFFINITY, key, value) > 0
        # The first pod of a group is accepted: no pod in the cluster matches, and the pod matches its own terms.
        return present or (self.terms.matches_itself and self._is_first())

    def _is_first(self) -> bool:
        counts, extra = self.counts[AFFINITY], self.extra[AFFINITY]
        if not extra:
            return not counts
        pairs = {*extra, *((key, value) for key in counts for value in counts.values(key))}
        return not any(self._number(AFFINITY, key, value) for key, value in pairs)

    def _number(self, which: int, key: str, value: str) -> int:
        number, extra = self.counts[which].values(key).get(value, 0), self.extra[which]
        return number + extra.get((key, value), 0) if extra else number

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        if snapshot.namespaces is not self.terms.namespaces:
            return State.of(Terms(self.terms.pod, snapshot), snapshot), None
        terms = Terms(self.terms.pod, snapshot) if self.terms.is_oversized else self.terms
        names = terms.affected_nodes(delta)
        if not names:
            return self if terms is self.terms else replace(self, terms=terms), ()
        changes = self._changes(terms, names, delta, snapshot)
        changed = [counts.changed(more) for counts, more in zip(self.counts, changes, strict=True)]
        later = State(terms, tuple(counts for counts, _ in changed))
        had_affinity, has_affinity = bool(self.counts[AFFINITY]), bool(later.counts[AFFINITY])
        if later.skips is not self.skips or (terms.matches_itself and had_affinity is not has_affinity):
            return later, None
        changed_pairs = set[tuple[str, str]]().union(*(pairs for _, pairs in changed))
        return later, [name for key, value in changed_pairs for name in snapshot.names_in(key, value)]

    def _changes(
        self, terms: Terms, names: Collection[str], delta: SnapshotDelta, snapshot: Snapshot
    ) -> tuple[Pairs, ...]:
        changes = sum_pairs(()), sum_pairs(()), sum_pairs(())
        own = bool(terms.affinity or terms.anti_affinity_keys)
        for name in names:
            before, after = delta.before[name], snapshot.nodes.get(name)
            # Most pods do not have anti-affinity, so the old and the new node usually share this mapping.
            barred = (
                before is None
                or after is None
                or before.usage.specs_with_anti_affinity is not after.usage.specs_with_anti_affinity
                or before.labels != after.labels
            )
            for node, sign in ((before, -1), (after, 1)) if own or barred else ():
                if node is None:
                    continue
                pairs_of_node = (
                    terms.affinity_pairs(node) if terms.affinity else (),
                    terms.anti_affinity_pairs(node) if terms.anti_affinity_keys else (),
                    terms.existing_anti_affinity_pairs(node) if barred else (),
                )
                for counts, pairs in zip(changes, pairs_of_node, strict=True):
                    for key, value, number in pairs:
                        counts[key, value] += sign * number
        return changes

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def _adjusted(self, pod: Pod, node: NodeInfo, sign: int) -> ClusterFilter:
        found = self.terms.of_one(pod, node)
        if not any(found):
            return self
        return replace(self, extra=tuple([_plus(*each, sign) for each in zip(self.extra, found, strict=True)]))


def _plus(extra: Pairs, more: Pairs, sign: int) -> Pairs:
    if not more:
        return extra
    found = dict(extra)
    for pair, number in more.items():
        found[pair] = found.get(pair, 0) + sign * number
    return found
