"""The nodes with planned members and pods that are being bound. `shortage_of` describes why a gang does not fit."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from berth.scheduling.evaluation.evaluation import Evaluation, nominated_beside
from berth.scheduling.evaluation.time_limit import DecisionDeadline
from berth.scheduling.fields.pod_rules import NO_POD_AFFINITY
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

SHIPPED_PLUGINS = "berth.scheduling.plugins."

ProfileOf = Callable[[Pod], Profile]
Evaluate = Callable[[Profile, Pod, Snapshot, DecisionDeadline], Evaluation]


class ShortPool(NamedTuple):
    """A floating pool that has less left than a gang needs."""

    needed: int
    left: int
    capacity: int


MemberKind = tuple[int, int]
"""A number for the member's shape, and a number for the fields that shipped plugins read of a placed member."""


class NodeResults:
    """The results for a node with certain members, by the shape of the next member. accepted: whether the filters that
    look at one node pass. gained: the node's score, minus its score without members."""

    __slots__ = ("accepted", "gained", "with_member")

    def __init__(self) -> None:
        self.accepted: dict[int, bool] = {}
        self.gained: dict[int, int] = {}
        self.with_member: dict[int, NodeResults] = {}


class PlannedNode:
    """A node with planned members. Its NodeInfo is created when it is needed."""

    __slots__ = ("_before", "_info", "_pod", "results")

    def __init__(self, before: PlannedNode | NodeInfo, pod: Pod, results: NodeResults) -> None:
        self._before, self._pod, self.results = before, pod, results
        self._info: NodeInfo | None = None

    def info(self, counting: Counting) -> NodeInfo:
        """Return the node. Its last pod has the counted resources and devices that bind would give it."""
        if self._info is None:
            node = self._before if isinstance(self._before, NodeInfo) else self._before.info(counting)
            shares = self._pod.assumed_shares
            demands = counting.demands(self._pod) if shares is None and counting.counts else ()
            if demands and not isinstance(demands, UnreadableObject):
                chosen = counting.placed(demands, node)
                floating = counting.floating.shares(demands, self._pod.namespace, node.labels)
                if not isinstance(chosen, Insufficient) and not isinstance(floating, NoDomain):
                    shares = {**chosen, **floating}
            pod = replace(self._pod, node_name=node.name, nominated_node="", assumed_shares=shares)
            self._info = node.with_pods_and_usage((*node.pods, pod), node.usage.plus((pod,)))
        return self._info


class PlannedNodeCache:
    """Caches the kinds of members, and the results for nodes with members, from one plan to the next.

    Snapshots share the NodeInfo of every node that did not change. The results are valid until the node changes, and
    equal in every plan: they depend only on the node and on the fields that plugins read of its members. Threads that
    use the cache at the same time store equal values.
    """

    def __init__(self, profile_of: ProfileOf, counting: Counting) -> None:
        self.profile_of, self._annotations = profile_of, sorted(counting.pod_annotations)
        self._kinds: dict[str, tuple[Pod, MemberKind]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._new_numbers = count()
        self._results: dict[str, tuple[NodeInfo, NodeResults]] = {}
        self.size = 0
        """The number of added entries. The cache is replaced when there are too many."""

    def kind_of(self, pod: Pod) -> MemberKind:
        known = self._kinds.get(pod.uid)
        if known is None or known[0] is not pod:
            profile, new, numbers = self.profile_of(pod), self._new_numbers, self._numbers
            # A number is faster to hash than the object itself.
            shape = numbers.setdefault((profile.name, profile.shapes(pod)), next(new))
            on_node = pod.spec, pod.namespace, *map(pod.annotations.get, self._annotations)
            known = self._kinds[pod.uid] = pod, (shape, numbers.setdefault(on_node, next(new)))
            self.size += 1
        return known[1]

    def results_of(self, node: NodeInfo) -> NodeResults:
        """Return the results for this node of a snapshot, without members."""
        found = self._results.get(node.name)
        if found is None or found[0] is not node:
            found = self._results[node.name] = node, NodeResults()
        return found[1]


class PlannedNodes(DerivedFromSnapshot):
    """Nodes by name, with placed pods on them. The cost of a copy depends on the number of placed pods."""

    def __init__(self, snapshot: Snapshot, counting: Counting, cache: PlannedNodeCache) -> None:
        """Start without placed pods. snapshot: a snapshot without assumed pods."""
        super().__init__(snapshot)
        self.counting, self._cache = counting, cache
        self.changed: dict[str, PlannedNode] = {}
        self.places: list[tuple[str, PlannedNode]] = []
        """For each placed pod: the name of its node, and the node with the pods up to this pod."""
        self.left: dict[Candidates, NodesLeft] = {}
        self.has_affinity_terms = False
        """Whether a placed pod has terms of inter-pod affinity or anti-affinity."""

    def copy(self) -> PlannedNodes:
        """Return a copy on which a plan can be tried."""
        found = PlannedNodes(self.snapshot, self.counting, self._cache)
        found.changed, found.places, found.left = dict(self.changed), list(self.places), dict(self.left)
        found.has_affinity_terms = self.has_affinity_terms
        return found

    @property
    def placed(self) -> list[Pod]:
        """The placed pods, on their nodes."""
        return [node.info(self.counting).pods[-1] for _, node in self.places]

    def node(self, name: str) -> NodeInfo:
        found = self.changed.get(name)
        return self.snapshot.nodes[name] if found is None else found.info(self.counting)

    def place(self, pod: Pod, name: str) -> None:
        """Place a member on the node."""
        _, on_node = self._cache.kind_of(pod)
        node = self.changed.get(name) or self.snapshot.nodes[name]
        known = self._cache.results_of(node) if isinstance(node, NodeInfo) else node.results
        results = known.with_member.get(on_node)
        if results is None:
            results = known.with_member.setdefault(on_node, NodeResults())
            self._cache.size += 1
        self._placed(name, pod, PlannedNode(node, pod, results))

    def short_pools(self, members: Sequence[Pod]) -> Mapping[str, ShortPool]:
        """Return the pools of the cluster and of the namespace that have too little left for these members."""
        pools, used = self.counting.floating, dict[str, int]()
        needed = pools.used(members, {})
        for node in map(self.node, self.snapshot.nodes) if needed else ():
            add(used, pools.used(node.pods, node.labels))
        left = {pool: pools.capacity(pool) - used.get(pool, 0) for pool in needed}
        return {
            pool: ShortPool(amount, max(0, left[pool]), pools.capacity(pool))
            for pool, amount in needed.items()
            if amount > left[pool]
        }

    def add(self, pod: Pod, name: str) -> None:
        """Place a pod on the node to which it is being bound."""
        self._placed(name, pod, PlannedNode(self.changed.get(name) or self.snapshot.nodes[name], pod, NodeResults()))

    def _placed(self, name: str, pod: Pod, node: PlannedNode) -> None:
        self.changed[name] = node
        self.places.append((name, node))
        if pod.spec.pod_affinity is not NO_POD_AFFINITY:
            self.has_affinity_terms |= pod.spec.pod_affinity.has_terms


class Candidates:
    """The nodes of one snapshot for members of one shape, the best first. These nodes pass the filters that look at one
    node. Adding pods to a node that these filters reject never makes the node pass."""

    def __init__(
        self, shape: int, profile: Profile, pod: Pod, evaluation: Evaluation, deadline: DecisionDeadline
    ) -> None:
        """Rank the nodes. Raises DeadlineExceeded."""
        self._shape, self._evaluation, self._filters = shape, evaluation, evaluation.local.filters
        snapshot = evaluation.snapshot
        self.nominated = snapshot.nominated  # on these nodes, a verdict depends on more than the shape
        self.order: Sequence[str] = ()
        """The names of the candidates by rank: by score, then by name."""
        self.scores: Sequence[int] = ()
        """The scores by rank, without planned pods."""
        if evaluation.rejected is None and self._filters.rejected is None:
            passing = evaluation.local.statuses.filter_nodes(snapshot.positions.by_sorted_name, deadline).feasible
            totals = evaluation.totals(pod, passing, deadline=deadline)
            if isinstance(totals, Status):
                # If the pod cannot be scored, keep the order of the names.
                totals = [0] * len(passing)
            ranked = sorted(range(len(totals)), key=totals.__getitem__, reverse=True)
            self.order, self.scores = pick(passing.names, ranked), pick(totals, ranked)
        scores = [plugin for plugin, _ in profile.local_scores if SnapshotPart.PODS in plugin.reads]
        self.is_rescored = bool(scores)
        filters = (plugin for plugin in profile.local_filters if SnapshotPart.PODS in plugin.reads)
        # A custom plugin may read any field of the pods on a node.
        self._keeps = all(type(plugin).__module__.startswith(SHIPPED_PLUGINS) for plugin in (*scores, *filters))

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The ranks by name, from 0, of nodes that pass the filters for one node in the snapshot."""
        return {name: rank for rank, name in enumerate(self.order)}

    def passes(self, pod: Pod, name: str, planned_nodes: PlannedNodes, states: Sequence[ClusterFilter]) -> bool:
        """Return whether a member fits on this candidate, together with planned and nominated pods (fact 34)."""
        planned = planned_nodes.changed.get(name)
        nominated = nominated_beside(pod, name, planned_nodes.snapshot) if name in self.nominated else ()
        if planned is not None and not nominated:
            accepted = planned.results.accepted.get(self._shape) if self._keeps else None
            if accepted is None:
                accepted = self._filters.filter(planned_nodes.node(name)) is SUCCESS
                planned.results.accepted[self._shape] = accepted
            if not accepted:
                return False
        if not nominated and not states:
            return True
        node = planned_nodes.node(name).replacing_pods((), nominated)
        if nominated and self._filters.filter(node) is not SUCCESS:
            return False
        return all(state.filter(node) is SUCCESS for state in states)

    def states(self, planned_nodes: PlannedNodes) -> ClusterStates:
        """Return the states of the filters that look at all nodes, with the planned pods."""
        return ClusterStates(self._evaluation, planned_nodes)

    def score(self, rank: int, planned_nodes: PlannedNodes) -> int:
        """Return the score of a candidate with the planned pods; higher is better."""
        score = self.scores[rank]
        planned = planned_nodes.changed.get(self.order[rank]) if self.is_rescored else None
        if planned is None:
            return score
        gained = planned.results.gained.get(self._shape) if self._keeps else None
        if gained is None:
            before, after = planned_nodes.snapshot.nodes[self.order[rank]], planned_nodes.node(self.order[rank])
            gained = planned.results.gained[self._shape] = self._evaluation.local.scores.difference(before, after)
        return score + gained


class NodesLeft:
    """The ranks of the candidates left for members of one shape, the best first. Scores change as members are placed.

    `_next`: the first rank that was not taken yet. `_heap`: the ranks that were put back, by score. `_moved`: the ranks
    of nodes that got other pods, such as members of other shapes.
    """

    def __init__(
        self,
        candidates: Candidates,
        planned_nodes: PlannedNodes,
        names: Container[str] | None,
        earlier: NodesLeft | None = None,
    ) -> None:
        """Prepare the ranks. names: the only nodes to use; None: all nodes. earlier: the NodesLeft of the previous
        members of this shape, if any."""
        self._candidates, self._planned_nodes, self._names = candidates, planned_nodes, names
        self._next, self._heap, self._moved, self._placed = 0, list[tuple[int, int]](), set[int](), 0
        if earlier is not None:
            self._next, self._heap, self._moved = earlier._next, earlier._heap.copy(), earlier._moved.copy()
            self._placed = earlier._placed
        if candidates.is_rescored:
            for name, _ in planned_nodes.places[self._placed :]:
                rank = candidates.ranks.get(name)
                if rank is not None and (names is None or name in names):
                    self._moved.add(rank)
                    self.put_back(rank)

    def take_best(self) -> int | None:
        candidates, heap, rank = self._candidates, self._heap, self._next
        if self._moved or self._names is not None:
            while rank < len(candidates.order) and not self._is_wanted(rank):
                rank += 1
            # Drop outdated entries: nodes that received another pod meanwhile were pushed again with their new score.
            while heap and heap[0][0] != -candidates.score(heap[0][1], self._planned_nodes):
                heappop(heap)
        is_left = rank < len(candidates.order)
        if heap and not (is_left and (-candidates.scores[rank], rank) < heap[0]):
            self._next = rank
            return heappop(heap)[1]
        self._next = rank + is_left
        return rank if is_left else None

    def put_back(self, rank: int) -> None:
        heappush(self._heap, (-self._candidates.score(rank, self._planned_nodes), rank))

    def keep(self) -> None:
        """Keep these nodes for the next members of this shape."""
        self._placed = len(self._planned_nodes.places)
        self._planned_nodes.left[self._candidates] = self

    def _is_wanted(self, rank: int) -> bool:
        return rank not in self._moved and (self._names is None or self._candidates.order[rank] in self._names)


class ClusterStates:
    """The states of the filters that look at all nodes. They are updated with each planned pod."""

    def __init__(self, evaluation: Evaluation, planned_nodes: PlannedNodes) -> None:
        self._planned_nodes, self._applied = planned_nodes, 0
        # A filter that all nodes pass now may reject nodes once a member with pod anti-affinity is placed.
        self._states = evaluation.all_filters if planned_nodes.has_affinity_terms else evaluation.filters

    def now(self) -> tuple[ClusterFilter, ...]:
        if self._states:
            for name, planned in self._planned_nodes.places[self._applied :]:
                pod, node = planned.info(self._planned_nodes.counting).pods[-1], self._planned_nodes.node(name)
                self._states = tuple([state.with_pod(pod, node) for state in self._states])
            self._applied = len(self._planned_nodes.places)
        return self._states


def planned_nodes_of(
    snapshot: Snapshot, counting: Counting, cache: PlannedNodeCache, planned: Container[str] = ()
) -> PlannedNodes:
    """Return the nodes with the pods that are being bound. planned: UIDs of pods that the plan places, to leave out."""
    planned_nodes = PlannedNodes(snapshot.base, counting, cache)
    for name, pods in snapshot.assumed.items():
        for pod in pods:
            if name in planned_nodes.snapshot.nodes and pod.uid not in planned:
                planned_nodes.add(pod, name)
    return planned_nodes


def shortage_of(groups: Sequence[Sequence[Pod]], placed: int, planned_nodes: PlannedNodes, counting: Counting) -> str:
    """Describe how much of the scarcest resource a gang needs, and how much of it the planned gangs leave.

    If enough of each resource is left, another rule rejects the nodes: then describe how many members fit. The text
    never contains a resource name that only the pods' owner chose. groups: the members that need a node, by shape.
    placed: how many of them fit.
    """
    for pool, short in planned_nodes.short_pools([pod for group in groups for pod in group]).items():
        return f"{insufficient(pool)}: needs {short.needed}, {short.left} of {short.capacity} are left"
    found = [short for group in groups for short in _short(group, planned_nodes, counting)]
    if not found:
        return f"{placed} of {sum(map(len, groups))} members have a node that takes them"
    return min(found)[2]


def _short(group: Sequence[Pod], planned_nodes: PlannedNodes, counting: Counting) -> Iterator[tuple[int, str, str]]:
    """Yield, for each resource that is short if it is checked alone: the negated shortfall, the name, and the
    description."""
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
    """Describe the shortage. counts: for each node with room, the number of members for which it has enough."""
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
