"""PodTopologySpread, filter: limits the skew between topology values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, Status, unresolvable, unschedulable
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.pod_topology_spread.spread import DomainCounts, Spread
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "PodTopologySpread"

# The reason if the pod would make the skew too large.
REASON = "node(s) didn't match pod topology spread constraints"
# The reason if the node lacks a topology key.
REASON_MISSING_LABEL = REASON + " (missing required label)"

_SKEWED = unschedulable(NAME, REASON, reason_code=ReasonCode.TOPOLOGY_SPREAD_SKEW)
_MISSING_LABEL = unresolvable(NAME, REASON_MISSING_LABEL, reason_code=ReasonCode.TOPOLOGY_SPREAD_LABEL_MISSING)

NO_PODS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class State(ClusterFilter):
    """The state of the filter. extra: the changes of the counts in a dry run, by constraint and topology value."""

    spread: Spread
    domains: tuple[DomainCounts, ...]
    extra: Mapping[int, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, spread: Spread, snapshot: Snapshot) -> State:
        pods: list[dict[str, int]] = [{} for _ in spread.constraints]
        nodes: list[dict[str, int]] = [{} for _ in spread.constraints]
        spread.classify(snapshot)
        for node in snapshot.nodes.values() if spread.constraints else ():
            for index, value, number in spread.domains(node, classified=True):
                pods[index][value] = pods[index].get(value, 0) + number
                nodes[index][value] = nodes[index].get(value, 0) + 1
        return cls(
            spread,
            tuple(
                DomainCounts.of(each, int(each.selector.matches(spread.pod.labels)), pods[index], nodes[index])
                for index, each in enumerate(spread.constraints)
            ),
        )

    @property
    def skips(self) -> bool:
        return not self.domains

    def filter(self, node: NodeInfo) -> Status:
        labels = node.labels
        for index, each in enumerate(self.domains):
            value = labels.get(each.constraint.topology_key)
            if value is None:
                return _MISSING_LABEL
            if index in self.extra:
                if each.is_full(value, self.extra[index]):
                    return _SKEWED
            elif value in each.full:
                return _SKEWED
        return SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        spread = self.spread.at(snapshot)
        if spread.constraints != self.spread.constraints or spread.counts_nodes is not self.spread.counts_nodes:
            return State.of(spread, snapshot), None
        names = spread.affected_nodes(delta, snapshot)
        if not names:
            return self if spread is self.spread else replace(self, spread=spread), ()
        domains = []
        turned: set[str] = set()
        for counts, more_pods, more_nodes in zip(self.domains, *spread.changes(names, delta, snapshot), strict=True):
            if not any(more_pods.values()) and not any(more_nodes.values()):
                domains.append(counts)
                continue
            changed = counts.changed(more_pods, more_nodes)
            domains.append(changed)
            for value in counts.full ^ changed.full:
                turned.update(snapshot.names_in(counts.constraint.topology_key, value))
        return State(spread, tuple(domains)), turned

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, 1)

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self._adjusted(pod, node, -1)

    def _adjusted(self, pod: Pod, node: NodeInfo, sign: int) -> ClusterFilter:
        """Add or remove a pod as kube-scheduler does. Unlike elsewhere, a pod counts here even if it is being deleted,
        or if the selector is `{}`."""
        spread = self.spread
        if pod.label_set.namespace != spread.pod.label_set.namespace or not spread.covers(node):
            return self
        matching = [index for index in spread.included(node) if spread.matches(index, pod.label_set)]
        if not matching:
            return self
        extra = dict(self.extra)
        for index in matching:
            value = node.labels[spread.constraints[index].topology_key]
            found = extra.get(index, NO_PODS)
            extra[index] = {**found, value: found.get(value, 0) + sign}
        return replace(self, extra=extra)
