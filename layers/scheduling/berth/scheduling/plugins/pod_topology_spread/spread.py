"""The spread constraints of a pod, and the nodes and pods that these count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest

from berth.scheduling.fields.pod_rules import TopologySpreadConstraint, UnsatisfiableConstraintAction
from berth.scheduling.fields.requirements import InvalidRequirement, equals
from berth.scheduling.fields.selectors import LabelSelector
from berth.scheduling.fields.taints import TolerationIndex
from berth.scheduling.objects import LabelSet, NodeInfo, Pod
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.plugins.pod_counts import pod_counter
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Constraint:
    max_skew: int
    topology_key: str
    selector: LabelSelector
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for filtering or scoring. action: the action of the constraints to use. system_defaults: whether
    `defaults` are kube-scheduler's default constraints, which accept nodes without the topology keys."""

    action: UnsatisfiableConstraintAction
    defaults: tuple[TopologySpreadConstraint, ...]
    system_defaults: bool


def _with_action(
    constraints: Iterable[TopologySpreadConstraint],
    action: UnsatisfiableConstraintAction,
    pod: Pod,
    selector: LabelSelector | None,
) -> tuple[Constraint, ...] | InvalidRequirement:
    found = []
    for each in constraints:
        if each.when_unsatisfiable != action:
            continue
        if isinstance(each.selector, InvalidRequirement):
            return each.selector
        narrowed = each.selector.narrowed(
            tuple(equals(key, pod.labels[key]) for key in dict.fromkeys(each.match_label_keys) if key in pod.labels)
        )
        found.append(
            Constraint(
                each.max_skew,
                each.topology_key,
                narrowed if selector is None else selector,
                each.min_domains,
                each.honor_affinity,
                each.honor_taints,
            )
        )
    return tuple(found)


def spread_of(pod: Pod, rules: Rules, snapshot: Snapshot) -> Spread | InvalidRequirement:
    """Return the pod's constraints with the action of the rules; for a pod without constraints, the defaults with the
    selector of its workloads. Return InvalidRequirement if a selector cannot be parsed."""
    constraints: tuple[Constraint, ...] | InvalidRequirement = ()
    if pod.spec.topology_spread:
        constraints = _with_action(pod.spec.topology_spread, rules.action, pod, None)
    elif any(each.when_unsatisfiable == rules.action for each in rules.defaults):
        selector = snapshot.workloads.selector_of(pod)
        if not selector.everything:
            constraints = _with_action(rules.defaults, rules.action, pod, selector)
    if isinstance(constraints, InvalidRequirement):
        return constraints
    return Spread(pod, rules, snapshot.workloads, constraints)


class Spread:
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
        # For the hostname, scoring counts the pods when it reads the node.
        soft = rules.action is UnsatisfiableConstraintAction.SCHEDULE_ANYWAY
        self._counted = [
            (index, each.topology_key)
            for index, each in enumerate(constraints)
            if not soft or each.topology_key != HOSTNAME
        ]

    def at(self, snapshot: Snapshot) -> Spread:
        """Return the spread for a later snapshot. It is this object unless the workloads changed for a pod with default
        constraints, a counter is oversized, or a node may count for the first time."""
        defaulted = not self.pod.spec.topology_spread and snapshot.workloads is not self._workloads
        begins = not self.counts_nodes and self._is_possible(snapshot)
        if not defaulted and not begins and not any(counter.is_oversized for counter in self._counters):
            return self
        again = spread_of(self.pod, self._rules, snapshot)
        if isinstance(again, InvalidRequirement):
            return self
        again.classify(snapshot)
        return again

    def matches(self, index: int, label_set: LabelSet) -> bool:
        """Return whether a pod with these labels counts for the constraint. The selector `{}` matches all pods here."""
        return self._counters[index].matches(label_set)

    def covers(self, node: NodeInfo) -> bool:
        return node.labels.keys() >= self._keys

    def included(self, node: NodeInfo) -> list[int]:
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
            if each.honor_taints and node.taints and self._tolerations.repelled_by(node.taints):
                continue
            found.append(index)
        return found

    def classify(self, snapshot: Snapshot) -> None:
        """Match the pods of a whole snapshot at once, unless no node can count: a pod may have 8,000 constraints."""
        self.counts_nodes = self._is_possible(snapshot)
        for counter in self._counters if self.counts_nodes else ():
            counter.matches_one_of(snapshot.pod_index)

    def _is_possible(self, snapshot: Snapshot) -> bool:
        """Return whether some node has all topology keys; True if nodes need not have them."""
        return not self.requires_all or any(map(self.covers, snapshot.nodes.values()))

    def count(self, index: int, node: NodeInfo, *, classified: bool = False) -> int:
        """Count the matching pods on the node, without pods that are being deleted. For a selector `{}` return 0."""
        if self.constraints[index].selector.everything:
            return 0
        return self._counters[index].count_running(node.usage, classified=classified)

    def domains(self, node: NodeInfo, *, classified: bool = False) -> list[tuple[int, str, int]]:
        """Return the index, the topology value and the number of pods for each constraint that counts the node.
        classified: whether the node's label sets are classified already."""
        labels = node.labels
        if self.requires_all and not labels.keys() >= self._keys:
            return []
        included = self.included(node)
        if self._shared is not None and included is self._all:
            # The usual case: all constraints have one selector, and all policies include the node.
            number = self._shared.count_running(node.usage, classified=classified)
            return [(index, labels.get(key, ""), number) for index, key in self._counted]
        # A node without the label is in the domain of the empty value, if it counts.
        return [
            (index, labels.get(key, ""), self.count(index, node, classified=classified))
            for index, key in self._counted
            if index in included
        ]

    def affected_nodes(self, delta: SnapshotDelta, snapshot: Snapshot) -> Collection[str]:
        """Return the nodes of a delta whose counts may change. This classifies the label sets of added pods."""
        if not self.constraints:
            return ()
        if not self.counts_nodes:
            return delta.reset
        for node in [snapshot.nodes[name] for name in delta.reset if name in snapshot.nodes]:
            for counter in self._counters:
                counter.classify(node.usage.label_sets)
        # Most constraints of a pod have the same selector, so they share a counter.
        counters = dict.fromkeys(self._counters)
        return delta.reset.union(
            *(
                pod_moves.by_label_set[found]
                for pod_moves in delta.pod_moves
                for counter in counters
                for found in counter.matching(pod_moves.by_label_set)
            )
        )

    def changes(
        self, names: Iterable[str], delta: SnapshotDelta, snapshot: Snapshot
    ) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
        pods: list[dict[str, int]] = [defaultdict(int) for _ in self.constraints]
        nodes: list[dict[str, int]] = [defaultdict(int) for _ in self.constraints]
        for name in names:
            before, after = delta.before[name], snapshot.nodes.get(name)
            if before is not None and after is not None and self._has_equal_counts(before, after):
                continue
            for node, sign in ((before, -1), (after, 1)):
                for index, value, number in () if node is None else self.domains(node):
                    pods[index][value] += sign * number
                    nodes[index][value] += sign
        return pods, nodes

    def _has_equal_counts(self, before: NodeInfo, after: NodeInfo) -> bool:
        if self._shared is None or before.labels is not after.labels or before.taints is not after.taints:
            return False
        return self._shared.count_running(before.usage) == self._shared.count_running(after.usage)


@dataclass(frozen=True, slots=True)
class DomainCounts:
    """The counts of one constraint. pods: the number of pods by topology value. nodes: the number of nodes by value.
    levels: the number of domains by number of pods. full: the values that do not allow one more pod. least: the domains
    with the fewest pods, computed on demand."""

    constraint: Constraint
    self_match: int
    pods: Mapping[str, int]
    nodes: Mapping[str, int]
    levels: Mapping[int, int]
    full: frozenset[str]
    least: dict[int, list[tuple[int, str]]] = field(init=False, default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, constraint: Constraint, self_match: int, pods: Mapping[str, int], nodes: Mapping[str, int]
    ) -> DomainCounts:
        levels = Counter(pods.values())
        limit = _limit(constraint, self_match, len(pods), min(levels, default=0))
        full = frozenset(value for value, number in pods.items() if number > limit)
        return cls(constraint, self_match, pods, nodes, levels, full)

    def changed(self, pods: Mapping[str, int], nodes: Mapping[str, int]) -> DomainCounts:
        """Return the counts with these numbers added. A domain without nodes is removed. Domains that are not in the
        arguments are checked again only if the limit changes."""
        all_nodes, all_pods, levels = self.nodes, dict(self.pods), dict(self.levels)
        if any(nodes.values()):
            all_nodes = {**all_nodes, **{value: all_nodes.get(value, 0) + number for value, number in nodes.items()}}
        values = {*pods, *nodes}
        for value in values:
            if value in all_pods:
                _count(levels, all_pods[value], -1)
            if all_nodes[value]:
                all_pods[value] = all_pods.get(value, 0) + pods.get(value, 0)
                _count(levels, all_pods[value], 1)
            else:
                all_pods.pop(value, None)
        if not all(map(all_nodes.__getitem__, values)):
            all_nodes = {value: number for value, number in all_nodes.items() if number}
        limit = _limit(self.constraint, self.self_match, len(all_pods), min(levels, default=0))
        if limit == _limit(self.constraint, self.self_match, len(self.pods), min(self.levels, default=0)):
            full = self.full - values | {value for value in values if all_pods.get(value, limit) > limit}
        else:
            full = frozenset(value for value, number in all_pods.items() if number > limit)
        return DomainCounts(self.constraint, self.self_match, all_pods, all_nodes, levels, full)

    def is_full(self, value: str, extra: Mapping[str, int]) -> bool:
        """Return whether the domain is full. extra: the changes of the numbers of pods in a dry run."""
        numbers = [self.pods[key] + extra[key] for key in extra if key in self.pods]
        # Read the smallest domains, one more than there are changed domains: at least one of them is unchanged.
        unchanged = (number for number, key in self._least(len(extra) + 1) if key not in extra)
        least = min((*numbers, *unchanged), default=0)
        limit = _limit(self.constraint, self.self_match, len(self.pods), least)
        return self.pods.get(value, 0) + extra.get(value, 0) > limit

    def _least(self, many: int) -> list[tuple[int, str]]:
        found = self.least.get(many)
        if found is None:
            found = self.least[many] = nsmallest(many, ((number, key) for key, number in self.pods.items()))
        return found


def _limit(constraint: Constraint, self_match: int, domains: int, least: int) -> int:
    """Return the maximum number of pods in a domain that allows one more pod. least: the number of pods in the smallest
    domain."""
    if domains < constraint.min_domains:
        least = 0
    return constraint.max_skew + least - self_match


def _count(levels: dict[int, int], number: int, more: int) -> None:
    levels[number] = levels.get(number, 0) + more
    if not levels[number]:
        del levels[number]
