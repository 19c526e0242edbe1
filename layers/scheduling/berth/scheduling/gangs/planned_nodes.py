"""The nodes with pods that are being bound and with planned members; and the resource that is short."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple

from berth.scheduling.evaluation.evaluation import Evaluation, nominated_beside
from berth.scheduling.evaluation.time_limit import DecisionDeadline
from berth.scheduling.fields.resources import shown_amount
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.floating import Insufficient, NoDomain, insufficient
from berth.scheduling.managed_resources.pools import add
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject
from berth.scheduling.snapshot.node_list import pick
from berth.scheduling.snapshot.parts import SnapshotPart
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

Evaluate = Callable[[Profile, Pod, Snapshot, DecisionDeadline], Evaluation]
ProfileOf = Callable[[Pod], Profile]


class ShortPool(NamedTuple):
    """A floating pool that has less left than a gang needs."""

    needed: int
    left: int
    capacity: int


class PlannedNodes(DerivedFromSnapshot):
    """Nodes by name, with placed pods on them. The cost of a copy depends on the number of nodes with placed pods."""

    def __init__(self, snapshot: Snapshot, counting: Counting) -> None:
        """snapshot: a snapshot without assumed pods."""
        super().__init__(snapshot)
        self._counting = counting
        self.changed: dict[str, NodeInfo] = {}
        self.placed: list[Pod] = []
        self.has_affinity_terms = False
        """Whether a placed pod has terms of inter-pod affinity or anti-affinity."""

    def copy(self) -> PlannedNodes:
        """Return a copy, to try a plan on."""
        found = PlannedNodes(self.snapshot, self._counting)
        found.changed, found.placed = dict(self.changed), list(self.placed)
        found.has_affinity_terms = self.has_affinity_terms
        return found

    def node(self, name: str) -> NodeInfo:
        return self.changed.get(name) or self.snapshot.nodes[name]

    def place(self, pod: Pod, name: str) -> None:
        """Place the pod on the node, with the amounts of counted resources and the devices that it would get."""
        node = self.node(name)
        shares = pod.assumed_shares
        if shares is None and self._counting.counts:
            demands = self._counting.demands(pod)
            if demands and not isinstance(demands, UnreadableObject):
                chosen = self._counting.placed(demands, node)
                floating = self._counting.floating.shares(demands, pod.namespace, node.labels)
                if not isinstance(chosen, Insufficient) and not isinstance(floating, NoDomain):
                    shares = {**chosen, **floating}
        self.add(replace(pod, node_name=name, nominated_node="", assumed_shares=shares), node)

    def short_pools(self, members: Sequence[Pod]) -> Mapping[str, ShortPool]:
        """Return the pools of the cluster and of the namespace that have too little left for these members."""
        pools, used = self._counting.floating, dict[str, int]()
        needed = pools.used(members, {})
        for node in map(self.node, self.snapshot.nodes) if needed else ():
            add(used, pools.used(node.pods, node.labels))
        left = {pool: pools.capacity(pool) - used.get(pool, 0) for pool in needed}
        return {
            pool: ShortPool(amount, max(0, left[pool]), pools.capacity(pool))
            for pool, amount in needed.items()
            if amount > left[pool]
        }

    def add(self, pod: Pod, node: NodeInfo) -> None:
        self.changed[node.name] = node.with_pods_and_usage((*node.pods, pod), node.usage.plus((pod,)))
        self.placed.append(pod)
        self.has_affinity_terms |= pod.spec.pod_affinity.has_terms


class Candidates:
    """The nodes for members of one shape, the best first. For one snapshot; its filters see the planned pods.

    These nodes pass the filters that look at one node. Adding pods never makes a rejected node pass.
    """

    def __init__(self, profile: Profile, pod: Pod, evaluation: Evaluation, deadline: DecisionDeadline) -> None:
        """Raises DeadlineExceeded."""
        self._evaluation, self._filters = evaluation, evaluation.local.filters
        snapshot = evaluation.snapshot
        self.order: Sequence[str] = ()
        """The names of the candidates by rank: by score, then by name."""
        self._scores: Sequence[int] = ()
        self._rescored: dict[int, tuple[NodeInfo, int]] = {}
        if evaluation.rejected is None and self._filters.rejected is None:
            passing = evaluation.local.statuses.filter_nodes(snapshot.positions.by_sorted_name, deadline).feasible
            totals = evaluation.totals(pod, passing, deadline=deadline)
            if isinstance(totals, Status):
                # If the pod cannot be scored, keep the order of the names.
                totals = [0] * len(passing)
            ranked = sorted(range(len(totals)), key=totals.__getitem__, reverse=True)
            self.order, self._scores = pick(passing.names, ranked), pick(totals, ranked)
        self.is_rescored = any(SnapshotPart.PODS in plugin.reads for plugin, _ in profile.local_scores)

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The ranks by name, from 0. A node without one fails the filters that look at one node, as it is in the
        snapshot."""
        return {name: rank for rank, name in enumerate(self.order)}

    def passes(self, pod: Pod, name: str, planned_nodes: PlannedNodes, states: Sequence[ClusterFilter]) -> bool:
        """Return whether a member fits on this candidate, together with planned and nominated pods (fact 34)."""
        node = planned_nodes.changed.get(name)
        nominated = (
            nominated_beside(pod, name, planned_nodes.snapshot) if name in planned_nodes.snapshot.nominated else ()
        )
        if nominated:
            node = (node or planned_nodes.snapshot.nodes[name]).replacing_pods((), nominated)
        if node is not None and self._filters.filter(node) is not SUCCESS:
            return False
        if not states:
            return True
        found = node or planned_nodes.snapshot.nodes[name]
        return all(state.filter(found) is SUCCESS for state in states)

    def states(self, planned_nodes: PlannedNodes) -> ClusterStates:
        """Return the states of the filters that look at all nodes, with the planned pods."""
        return ClusterStates(self._evaluation, planned_nodes)

    def score(self, rank: int, planned_nodes: PlannedNodes) -> int:
        """Return the score of a candidate with the planned pods, the higher the better."""
        score = self._scores[rank]
        node = planned_nodes.changed.get(self.order[rank]) if self.is_rescored else None
        if node is None:
            return score
        known = self._rescored.get(rank)
        if known is None or known[0] is not node:
            difference = self._evaluation.local.scores.difference(planned_nodes.snapshot.nodes[node.name], node)
            known = self._rescored[rank] = node, score + difference
        return known[1]


class NodesLeft:
    """The ranks of the candidates that are left for members of one shape, the best first. Scores change as members are
    placed."""

    def __init__(self, candidates: Candidates, planned_nodes: PlannedNodes, names: Container[str] | None) -> None:
        """names: the only nodes to use; None for all nodes."""
        self._candidates, self._planned_nodes, self._names = candidates, planned_nodes, names
        self._next = 0
        # Nodes whose score differs from their score in the candidates' order.
        self._rescored = candidates.is_rescored
        self._changed = frozenset(planned_nodes.changed) if self._rescored else frozenset[str]()
        self._heap: list[tuple[int, int]] = []
        for name in self._changed:
            if (names is None or name in names) and (rank := candidates.ranks.get(name)) is not None:
                self.put_back(rank)

    def take_best(self) -> int | None:
        order = self._candidates.order
        while self._next < len(order) and not self._is_wanted(order[self._next]):
            self._next += 1
        if self._heap and (self._next == len(order) or self._heap[0] < self._key(self._next)):
            return heappop(self._heap)[1]
        if self._next == len(order):
            return None
        self._next += 1
        return self._next - 1

    def put_back(self, rank: int) -> None:
        heappush(self._heap, self._key(rank))

    def _is_wanted(self, name: str) -> bool:
        return name not in self._changed and (self._names is None or name in self._names)

    def _key(self, rank: int) -> tuple[int, int]:
        return -self._candidates.score(rank, self._planned_nodes), rank


class ClusterStates:
    """The states of the filters that look at all nodes. They are updated with each planned pod."""

    def __init__(self, evaluation: Evaluation, planned_nodes: PlannedNodes) -> None:
        self._planned_nodes, self._applied = planned_nodes, 0
        # A filter that all nodes pass now may reject nodes once a member with pod anti-affinity is placed.
        self._states = evaluation.all_filters if planned_nodes.has_affinity_terms else evaluation.filters

    def now(self) -> tuple[ClusterFilter, ...]:
        if self._states:
            for pod in self._planned_nodes.placed[self._applied :]:
                node = self._planned_nodes.node(pod.node_name)
                self._states = tuple([state.with_pod(pod, node) for state in self._states])
            self._applied = len(self._planned_nodes.placed)
        return self._states


def planned_nodes_of(snapshot: Snapshot, counting: Counting, planned: Container[str] = ()) -> PlannedNodes:
    """Return the nodes with the pods that are being bound. planned: the UIDs of pods that the plan places."""
    planned_nodes = PlannedNodes(snapshot.base, counting)
    for name, pods in snapshot.assumed.items():
        for pod in pods:
            if name in planned_nodes.snapshot.nodes and pod.uid not in planned:
                planned_nodes.add(pod, planned_nodes.node(name))
    return planned_nodes


def shortage_of(groups: Sequence[Sequence[Pod]], placed: int, planned_nodes: PlannedNodes, counting: Counting) -> str:
    """Describe the need of a gang and the room that planned gangs leave, for the scarcest resource.

    If enough of each resource is left, another rule rejects the nodes. The name of the resource is from a node or the
    configuration, never from the pods' owner. groups: the members that need a node, by shape. placed: how many of them
    fit.
    """
    for pool, short in planned_nodes.short_pools([pod for group in groups for pod in group]).items():
        return f"{insufficient(pool)}: needs {short.needed}, {short.left} of {short.capacity} are left"
    found = [short for group in groups for short in _short(group, planned_nodes, counting)]
    if not found:
        return f"{placed} of {sum(map(len, groups))} members have a node that takes them"
    return min(found)[2]


def _short(group: Sequence[Pod], planned_nodes: PlannedNodes, counting: Counting) -> Iterator[tuple[int, str, str]]:
    """Yield each resource of which the nodes have too little for these members, each checked alone: the shortfall as a
    negative number, the name and a description."""
    needed = len(group)
    for name, amount in group[0].spec.requests.asked.items():
        if name in counting.ignored_by_scheduler or amount <= 0:
            continue
        nodes = [planned_nodes.node(each) for each in planned_nodes.snapshot.nodes]
        counts = [fitting for node in nodes if (fitting := min(needed, node.free.get(name, 0) // amount)) > 0]
        if sum(counts) >= needed:
            continue
        if any(name in node.allocatable for node in nodes):
            yield _described(needed, name, shown_amount(name, amount), counts)
        else:
            yield sum(counts) - needed, "", f"{needed} members request a resource that no node has"
    demands = counting.demands(group[0]) if counting.counts else ()
    for demand in () if isinstance(demands, UnreadableObject) else demands:
        counts = list(_counted(group, demand, planned_nodes, counting))
        if sum(counts) < needed:
            yield _described(needed, demand.resource, f"{demand.amount}{'%' if demand.percent else ''}", counts)


def _described(needed: int, resource: str, amount: str, counts: Sequence[int]) -> tuple[int, str, str]:
    """counts: how many members have enough of the resource, for each node with room."""
    room, nodes = sum(counts), "1 node" if len(counts) == 1 else f"{len(counts)} nodes"
    where = f"there is room for {room} on {nodes}" if room else "no node has so much left"
    return room - needed, resource, f"needs {needed} x {amount} {resource}, {where}"


def _counted(group: Sequence[Pod], demand: Demand, planned_nodes: PlannedNodes, counting: Counting) -> Iterator[int]:
    """Yield, for each node with room, how many of these members get their share of a counted resource there."""
    for name in planned_nodes.snapshot.nodes:
        fitting, tried = 0, planned_nodes
        while fitting < len(group) and not isinstance(counting.placed((demand,), tried.node(name)), Insufficient):
            if tried is planned_nodes:
                tried = planned_nodes.copy()
            tried.place(group[fitting], name)
            fitting += 1
        if fitting:
            yield fitting
