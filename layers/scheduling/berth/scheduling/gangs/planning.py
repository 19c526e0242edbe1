"""Plans a node for every member of one gang, in the room that is left on the nodes.

Members of one shape are equal for every filter. They are placed one after the other, each on the best remaining node.
This finds a placement whenever one exists, if the filters look at one node at a time, or keep members apart by one
topology key. It may miss a placement in two cases:

- Members have several shapes. They are placed by shape, the shape with the fewest nodes first, and then in the reverse
  order.
- Rules count members in domains of several topology keys, or attract members to each other in a gang without a topology
  key.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE
from berth.scheduling.gangs.members import GangMembers
from berth.scheduling.gangs.planned_nodes import Candidates, Evaluate, NodesLeft, PlannedNodeCache, PlannedNodes
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class GangPlan:
    """The planned nodes of a gang's members. places: the node of each member, by UID. domain: the value of the gang's
    topology key. elsewhere: plans of the gang in other domains, the best first.
    """

    places: Mapping[str, str]
    domain: str = ""
    elsewhere: tuple[GangPlan, ...] = ()

    def among(self, names: Container[str]) -> GangPlan:
        """Return the plan for the domain of these nodes: kube-scheduler tries one domain after the other."""
        if not self.elsewhere:
            return self
        plans = (self, *self.elsewhere)
        return next((each for each in plans if any(name in names for name in each.places.values())), self)


@dataclass(slots=True)
class Attempt:
    """An attempt to place members. planned_nodes: the attempt's own copy."""

    planned_nodes: PlannedNodes
    places: dict[str, str] = field(default_factory=dict)

    def place(self, pod: Pod, name: str) -> None:
        self.planned_nodes.place(pod, name)
        self.places[pod.uid] = name


class GangPlanning:
    """Plans gangs on one snapshot. Use it in one thread until all members have their candidates. Methods raise
    DeadlineExceeded, and can then be called again."""

    def __init__(self, evaluate: Evaluate, base: Snapshot, cache: PlannedNodeCache) -> None:
        self._evaluate, self._base, self._cache = evaluate, base, cache
        self.deadline = NO_DECISION_DEADLINE
        """The deadline of the current planning."""
        self._candidates: dict[int, Candidates] = {}
        self._too_large: dict[Hashable, int] = {}
        self._domains: dict[str, Mapping[str, frozenset[str]]] = {}

    def plan(self, members: GangMembers, planned_nodes: PlannedNodes) -> tuple[GangPlan, PlannedNodes] | None:
        """Return places for as many members as the gang needs, and the nodes with these members on them; None if the
        members do not fit."""
        gang = members.gang
        key = self._key(members, planned_nodes)
        # The room only shrinks: members that did not fit before do not fit now.
        if key is not None and gang.minimum >= self._too_large.get(key, gang.minimum + 1):
            return None
        if gang.topology_key:
            found = self._in_one_domain(members, planned_nodes)
        else:
            placed = self._placed(members, planned_nodes, None)
            found = None if placed is None else (GangPlan(placed.places), placed.planned_nodes)
        if found is None and key is not None:
            self._too_large[key] = min(gang.minimum, self._too_large.get(key, gang.minimum))
        return found

    def most(self, members: GangMembers, planned_nodes: PlannedNodes) -> Attempt:
        """Place as many of the needed members as fit together: fewer than needed for a gang that does not fit."""
        key, first = members.gang.topology_key, members.waiting[: members.gang.minimum]
        every: Iterable[Container[str] | None] = self._by_domain(planned_nodes, key).values() if key else (None,)
        groups = self.by_shape(first)
        attempts = (self._tried(groups, len(first), {}, planned_nodes, names) for names in every)
        return max(attempts, key=lambda each: len(each.places), default=Attempt(planned_nodes))

    def spare(self, pod: Pod, names: Container[str] | None, planned_nodes: PlannedNodes) -> Iterator[str]:
        """Yield the nodes on which one more pod of its shape fits, best first. names: the nodes to use; None: all."""
        candidates = self._candidates_of(pod)
        states = candidates.states(planned_nodes)
        for name in candidates.order:
            if (names is None or name in names) and candidates.passes(pod, name, planned_nodes, states.now()):
                yield name

    def alike(self, pod: Pod, members: GangMembers) -> list[Pod]:
        shape = self._shape_of(pod)
        return [each for each in members.waiting if self._shape_of(each) == shape]

    def nodes_of(self, members: GangMembers, plan: GangPlan, planned_nodes: PlannedNodes) -> frozenset[str] | None:
        """Return the nodes of the plan's domain; None for all nodes."""
        key = members.gang.topology_key
        return self._by_domain(planned_nodes, key)[plan.domain] if key else None

    def has_cluster_rules(self, pod: Pod, planned_nodes: PlannedNodes) -> bool:
        """Return whether placing a member may change verdicts on other nodes."""
        return bool(self._candidates_of(pod).states(planned_nodes).now())

    def _shape_of(self, pod: Pod) -> int:
        return self._cache.kind_of(pod)[0]

    def _candidates_of(self, pod: Pod) -> Candidates:
        shape = self._shape_of(pod)
        found = self._candidates.get(shape)
        if found is None:
            profile = self._cache.profile_of(pod)
            evaluation = self._evaluate(profile, pod, self._base, self.deadline)
            found = self._candidates[shape] = Candidates(shape, profile, pod, evaluation, self.deadline)
        return found

    def _key(self, members: GangMembers, planned_nodes: PlannedNodes) -> Hashable:
        """Return a key that, with the number of members, determines whether a gang fits; None if more data matters."""
        shapes = {self._shape_of(pod) for pod in members.waiting}
        if len(shapes) > 1 or members.arrived or self.has_cluster_rules(members.waiting[0], planned_nodes):
            return None
        return members.gang.topology_key, *shapes

    def _in_one_domain(self, members: GangMembers, planned_nodes: PlannedNodes) -> tuple[GangPlan, PlannedNodes] | None:
        placed = {}
        for domain, names in self._by_domain(planned_nodes, members.gang.topology_key).items():
            attempt = self._placed(members, planned_nodes, names)
            if attempt is not None:
                placed[domain] = attempt
        if not placed:
            return None
        arrived = set(members.arrived.values())
        # First the domain of the members that have arrived, then the domain with the best nodes.
        best, *others = sorted(
            placed,
            key=lambda domain: (
                arrived.isdisjoint(placed[domain].places.values()),
                self._ranks(members, placed[domain].places),
                domain,
            ),
        )
        elsewhere = tuple(GangPlan(placed[domain].places, domain) for domain in others)
        return GangPlan(placed[best].places, best, elsewhere), placed[best].planned_nodes

    def _ranks(self, members: GangMembers, places: Mapping[str, str]) -> int:
        """Return the sum of the places' ranks among all nodes; lower is better."""
        placed = (pod for pod in members.waiting if pod.uid in places)
        return sum(self._candidates_of(pod).ranks[places[pod.uid]] for pod in placed)

    def _by_domain(self, planned_nodes: PlannedNodes, key: str) -> Mapping[str, frozenset[str]]:
        found = self._domains.get(key)
        if found is None:
            names: dict[str, list[str]] = {}
            for name, node in planned_nodes.snapshot.nodes.items():
                value = node.labels.get(key)
                if value:
                    names.setdefault(value, []).append(name)
            found = self._domains[key] = {value: frozenset(names[value]) for value in sorted(names)}
        return found

    def _placed(
        self, members: GangMembers, planned_nodes: PlannedNodes, names: Container[str] | None
    ) -> Attempt | None:
        """Place as many members as are needed on these nodes; None if they do not fit. names: None for all nodes."""
        needed = members.gang.minimum
        first = members.waiting[:needed]
        arrived = members.arrived
        kept = [pod for pod in members.waiting if pod.uid in arrived] if arrived else []
        if kept:
            first = (*kept, *(pod for pod in members.waiting if pod.uid not in arrived))[:needed]
        groups = self.by_shape(first)
        orders: list[Iterable[Sequence[Pod]]] = [groups]
        if len(groups) > 1:
            orders.append(reversed(groups))
        if len(members.waiting) > needed and len(everybody := self.by_shape(members.waiting)) > 1:
            orders.append(reversed(everybody))
        tries = [(order, arrived) for order in orders]
        if kept:
            # Members that have arrived may no longer fit on their nodes: try other nodes for them.
            tries.append((groups, {}))
        for order, keep in tries:
            attempt = self._tried(order, needed, keep, planned_nodes, names)
            if len(attempt.places) >= needed:
                return attempt
        return None

    def by_shape(self, pods: Sequence[Pod]) -> list[list[Pod]]:
        """Return the members by shape, first the shape with the fewest nodes."""
        groups: dict[int, list[Pod]] = {}
        for pod in pods:
            groups.setdefault(self._shape_of(pod), []).append(pod)
        found = list(groups.values())
        return sorted(found, key=lambda group: len(self._candidates_of(group[0]).order)) if len(found) > 1 else found

    def _tried(
        self,
        groups: Iterable[Sequence[Pod]],
        needed: int,
        arrived: Mapping[str, str],
        planned_nodes: PlannedNodes,
        names: Container[str] | None,
    ) -> Attempt:
        attempt = Attempt(planned_nodes.copy())
        groups = list(groups)
        for group in groups if arrived else ():
            self._place_arrived(group, arrived, attempt, names)
        for group in groups:
            left = [pod for pod in group if pod.uid not in attempt.places][: needed - len(attempt.places)]
            if left:
                self._place_alike(left, attempt, names)
        return attempt

    def _place_arrived(
        self, group: Sequence[Pod], arrived: Mapping[str, str], attempt: Attempt, names: Container[str] | None
    ) -> None:
        """Keep members that have arrived in bind on their nodes, if they still fit there."""
        candidates = self._candidates_of(group[0])
        states = candidates.states(attempt.planned_nodes)
        for pod in group:
            name = arrived.get(pod.uid)
            if name is None or name not in candidates.ranks or (names is not None and name not in names):
                continue
            if candidates.passes(pod, name, attempt.planned_nodes, states.now()):
                attempt.place(pod, name)

    def _place_alike(self, pods: Sequence[Pod], attempt: Attempt, names: Container[str] | None) -> None:
        """Place as many of these members as fit, each on the best remaining node. They must have one shape."""
        candidates, planned_nodes = self._candidates_of(pods[0]), attempt.planned_nodes
        states = candidates.states(planned_nodes)
        earlier = planned_nodes.left.get(candidates) if names is None else None
        left = NodesLeft(candidates, planned_nodes, names, earlier)
        order, passes, take_best, has_rules = candidates.order, candidates.passes, left.take_best, bool(states.now())
        for pod in pods:
            self.deadline.check()
            refused = []
            while (rank := take_best()) is not None:
                name = order[rank]
                if passes(pod, name, planned_nodes, states.now() if has_rules else ()):
                    attempt.place(pod, name)
                    left.put_back(rank)
                    break
                # With filters that look at all nodes, a placed member may make a rejected node feasible.
                if has_rules or name in candidates.nominated:
                    refused.append(rank)
            for each in refused:
                left.put_back(each)
            if rank is None:
                break
        if names is None:
            left.keep()
