"""The nodes and pods that the constraints of a pod count."""

from __future__ import annotations

from collections.abc import Collection

from berth.scheduling.fields.selectors import InvalidRequirement
from berth.scheduling.fields.taints import TolerationIndex
from berth.scheduling.fields.topology_spread import UnsatisfiableConstraintAction
from berth.scheduling.objects import LabelSet, NodeInfo, Pod
from berth.scheduling.objects.workloads import Workloads
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.plugins.pod_counts import pod_counter
from berth.scheduling.plugins.pod_topology_spread.constraints import HOSTNAME, Constraint, Rules, constraints_of
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot


def spread_of(pod: Pod, rules: Rules, snapshot: Snapshot) -> Spread | InvalidRequirement:
    """The constraints of this pod. InvalidRequirement when a selector cannot be parsed."""
    constraints = constraints_of(pod, rules.action, rules.defaults, snapshot)
    return (
        constraints
        if isinstance(constraints, InvalidRequirement)
        else Spread(pod, rules, snapshot.workloads, constraints)
    )


class Spread:
    """The constraints of pods of one shape, and what they count on a node."""

    def __init__(self, pod: Pod, rules: Rules, workloads: Workloads, constraints: tuple[Constraint, ...]) -> None:
        self.pod, self.constraints = pod, constraints
        self._rules, self._workloads = rules, workloads
        self.requires_all = bool(pod.spec.topology_spread) or not rules.system_defaults
        self._required = required_of(pod)
        self.counts_nodes = True
        self._tolerations = TolerationIndex(pod.spec.tolerations)
        self._keys = frozenset(each.topology_key for each in constraints)
        self._counters = [pod_counter(frozenset((pod.namespace,)), each.selector) for each in constraints]
        alike = len({id(counter) for counter in self._counters}) == 1 and not constraints[0].selector.everything
        self._shared = self._counters[0] if alike else None
        self._all = list(range(len(constraints)))
        self._policies = any(each.honor_affinity or each.honor_taints for each in constraints)
        # A score takes what is on a node from the node itself.
        soft = rules.action is UnsatisfiableConstraintAction.SCHEDULE_ANYWAY
        self._counted = [
            (index, each.topology_key)
            for index, each in enumerate(constraints)
            if not soft or each.topology_key != HOSTNAME
        ]

    def at(self, snapshot: Snapshot) -> Spread:
        """The spread for a later snapshot: itself, unless the pod's workloads changed or a counter is oversized.

        Another one, too, where it counted no node and now may.
        """
        defaulted = not self.pod.spec.topology_spread and snapshot.workloads is not self._workloads
        begins = not self.counts_nodes and self._is_possible(snapshot)
        if not defaulted and not begins and not any(counter.is_oversized for counter in self._counters):
            return self
        again = spread_of(self.pod, self._rules, snapshot)
        if isinstance(again, InvalidRequirement):
            return self
        again.classify(snapshot)
        return again

    def selects_itself(self, index: int) -> bool:
        """Whether the pod is one of those that the constraint spreads."""
        return self.constraints[index].selector.matches(self.pod.labels)

    def matches(self, index: int, label_set: LabelSet) -> bool:
        """Whether a pod with these labels counts for the constraint. Even `{}` matches here."""
        return self._counters[index].matches(label_set)

    def covers(self, node: NodeInfo) -> bool:
        """Whether the node has all topology keys."""
        return node.labels.keys() >= self._keys

    def included(self, node: NodeInfo) -> list[int]:
        """The constraints, by index, whose policies include the node."""
        if not self._policies or (self._required is None and not node.taints):
            return self._all
        found = []
        matches: bool | None = None
        for index, each in enumerate(self.constraints):
            if each.honor_affinity and self._required is not None:
                if matches is None:
                    matches = self._required.matches(node)
                if not matches:
                    continue
            if each.honor_taints and node.taints and self._is_repelled_by(node):
                continue
            found.append(index)
        return found

    def classify(self, snapshot: Snapshot) -> None:
        """Match the pods of a whole snapshot at once. Not where no node counts: a pod may have 8,000 constraints."""
        self.counts_nodes = self._is_possible(snapshot)
        for counter in self._counters if self.counts_nodes else ():
            counter.matches_one_of(snapshot.pod_index)

    def _is_possible(self, snapshot: Snapshot) -> bool:
        """Whether some node has all topology keys, where it must have them."""
        return not self.requires_all or any(map(self.covers, snapshot.nodes.values()))

    def count(self, index: int, node: NodeInfo, *, classified: bool = False) -> int:
        """How many pods on the node count: not those that are being deleted. A selector `{}` counts nothing."""
        if self.constraints[index].selector.everything:
            return 0
        return self._counters[index].count_running(node.usage, classified=classified)

    def domains(self, node: NodeInfo, *, classified: bool = False) -> list[tuple[int, str, int]]:
        """Constraint, topology value and number of pods, for each constraint that counts the node.

        classified: whether the node's label sets are classified already.
        """
        labels = node.labels
        if self.requires_all and not labels.keys() >= self._keys:
            return []
        included = self.included(node)
        if self._shared is not None and included is self._all:
            # As it mostly is: one selector for all constraints, and no policy that leaves the node out.
            number = self._shared.count_running(node.usage, classified=classified)
            return [(index, labels.get(key, ""), number) for index, key in self._counted]
        # A node without the label is the domain of the empty value, where it counts at all.
        return [
            (index, labels.get(key, ""), self.count(index, node, classified=classified))
            for index, key in self._counted
            if index in included
        ]

    def affected_nodes(self, delta: SnapshotDelta, snapshot: Snapshot) -> Collection[str]:
        """The nodes of a delta whose counts may change. It classifies the label sets of added pods."""
        if not self.constraints:
            return ()
        if not self.counts_nodes:
            return delta.reset
        for node in [snapshot.nodes[name] for name in delta.reset if name in snapshot.nodes]:
            for counter in self._counters:
                counter.classify(node.usage.label_sets)
        # Most constraints of a pod have the same selector, and so one counter.
        counters = dict.fromkeys(self._counters)
        return delta.reset.union(
            *(
                pod_moves.by_label_set[found]
                for pod_moves in delta.pod_moves
                for counter in counters
                for found in counter.matching(pod_moves.by_label_set)
            )
        )

    def has_equal_counts(self, before: NodeInfo, after: NodeInfo) -> bool:
        """Whether a node with moved pods has the same counts as before."""
        if self._shared is None or before.labels is not after.labels or before.taints is not after.taints:
            return False
        return self._shared.count_running(before.usage) == self._shared.count_running(after.usage)

    def _is_repelled_by(self, node: NodeInfo) -> bool:
        return self._tolerations.repelled_by(node.taints)
