"""The plans of all gangs on one state, and the nodes that each member gets by them.

Whoever creates pods decides how many gangs there are, and how much work each one is. A call ends at its deadline, and
the next one on this state goes on where it ended: the work is none of the pod that a call asks about. A gang that has
half of the time of a decision, or more, and does not come to its end, is not planned for a while (`TimeLimited`).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from berth.scheduling.evaluation.time_limit import (
    NO_DECISION_DEADLINE,
    DeadlineExceeded,
    DecisionDeadline,
    TimeLimited,
)
from berth.scheduling.gangs.gang import GangError, GangKey, GangWait
from berth.scheduling.gangs.members import GangMembers
from berth.scheduling.gangs.planned_nodes import CandidatesByShape, PlannedNodes
from berth.scheduling.gangs.planning import GangPlan, GangPlanning
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_list import NodeRefs

MAX_ALTERNATIVES = 8
"""Of a member."""

MAX_SPARE_NODES = 256
"""Alternatives of a gang, for all its members."""

GangOutcome = GangPlan | GangError | GangWait | None
"""What becomes of a gang with a member that waits; None for a committed one: its members are placed alone."""


@dataclass(frozen=True, slots=True)
class Places:
    """The nodes that a member may go to, the place of the plan first."""

    names: tuple[str, ...]


class _Requested(Container[str]):
    """The nodes of a request."""

    def __init__(self, nodes: NodeRefs) -> None:
        self._source, self._positions = nodes.source, frozenset(nodes.positions)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._source[name] in self._positions


class _Intersection(Container[str]):
    """The nodes of a request that are in a domain, too."""

    def __init__(self, requested: Container[str], domain: Container[str]) -> None:
        self._requested, self._domain = requested, domain

    def __contains__(self, name: object) -> bool:
        return name in self._domain and name in self._requested


@dataclass(slots=True)
class Plans:
    """When they are made, only `alternatives` grows.

    planned_nodes: with all of them. extra: the places of members beyond those that their gangs need, by UID.
    """

    planned_nodes: PlannedNodes
    planning: GangPlanning
    members: dict[GangKey, GangMembers] = field(default_factory=dict)
    outcomes: dict[GangKey, GangOutcome] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    alternatives: dict[GangKey, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def place_committed(self, members: GangMembers) -> None:
        """Members that get their Bindings: the cache does not have them on their nodes yet."""
        for pod in members.waiting:
            name = members.arrived.get(pod.uid)
            if name is not None and name in self.planned_nodes.snapshot.nodes:
                self.planned_nodes.place(pod, name)

    def plan(self, members: GangMembers) -> GangOutcome:
        """What becomes of the next gang. Its members are planned on the nodes if they have places."""
        if members.is_committed:
            return None
        if members.error is not None:
            return members.error
        if len(members.waiting) < members.gang.minimum:
            return GangWait.FOR_MEMBERS
        planned = self.planning.plan(members, self.planned_nodes)
        if planned is not None:
            plan, self.planned_nodes = planned
            return plan
        allowed = sum(node.allowed_pods for node in self.planned_nodes.snapshot.nodes.values())
        return GangError.LARGER_THAN_CLUSTER if members.gang.minimum > allowed else GangWait.FOR_ROOM

    def place_extra(self, plan: GangPlan, members: GangMembers) -> None:
        """Members beyond those that the gang needs, on what all gangs leave. Where the time ends, none of them."""
        left = [pod for pod in members.waiting if pod.uid not in plan.places]
        nodes, planned_nodes = self.planning.nodes_of(members, plan, self.planned_nodes), self.planned_nodes.copy()
        found = {}
        for pod in left:
            name = next(self.planning.spare(pod, nodes, planned_nodes), None)
            if name is not None:
                found[pod.uid] = name
                planned_nodes.place(pod, name)
        self.extra.update(found)
        self.planned_nodes = planned_nodes

    def largest(self, members: GangMembers) -> tuple[GangPlan, PlannedNodes]:
        """Places for as many members as fit together: of a gang that fits, for all that it needs."""
        best, fits, fails = (GangPlan({}), self.planned_nodes), 0, min(len(members.waiting), members.gang.minimum) + 1
        while fails - fits > 1:
            number = (fits + fails) // 2
            planned = self.planning.plan(
                replace(members, gang=replace(members.gang, minimum=number)), self.planned_nodes
            )
            if planned is None:
                fails = number
            else:
                best, fits = planned, number
        return best

    def includes(self, pod: Pod, key: GangKey) -> bool:
        """Whether this member of the gang was waiting when the plans were begun."""
        return key in self.members and any(each.uid == pod.uid for each in self.members[key].waiting)

    def each(self) -> Iterator[tuple[GangMembers, GangOutcome]]:
        """The gangs in the order in which they were planned."""
        for key, members in self.members.items():
            yield members, self.outcomes[key]

    def places(self, pod: Pod, nodes: NodeRefs, best: GangPlan, members: GangMembers) -> Places | GangWait:
        """Of a member, among the nodes of a request. best: the plan of its gang."""
        requested = _Requested(nodes)
        plan = best.among(requested)
        place = plan.places.get(pod.uid) or (self.extra.get(pod.uid) if plan is best else None)
        if place is None:
            return GangWait.FOR_ROOM
        alternatives: tuple[str, ...] = ()
        if plan is best:
            if members.key not in self.alternatives:
                self.alternatives[members.key] = self._alternatives(plan, members)
            alternatives = self.alternatives[members.key].get(pod.uid, ())
        allowed = tuple(name for name in dict.fromkeys((place, *alternatives)) if name in requested)
        if allowed:
            return Places(allowed)
        # The scheduler knows something about these nodes that the cache does not.
        domain = self.planning.nodes_of(members, plan, self.planned_nodes)
        within = requested if domain is None else _Intersection(requested, domain)
        others = tuple(islice(self.planning.spare(pod, within, self.planned_nodes), MAX_ALTERNATIVES))
        if others:
            return Places(others)
        # Members that are alike may change places.
        taken = [plan.places[each.uid] for each in self.planning.alike(pod, members) if each.uid in plan.places]
        changed = tuple(dict.fromkeys(name for name in taken if name in requested))
        return Places(changed) if changed else GangWait.FOR_ROOM

    def _alternatives(self, plan: GangPlan, members: GangMembers) -> Mapping[str, tuple[str, ...]]:
        """Other nodes for each member, no node for two: whatever the scheduler chooses, the plan holds for the others.

        They have room when all gangs are planned. There are none where a filter looks at all nodes.
        """
        nodes = self.planning.nodes_of(members, plan, self.planned_nodes)
        groups = self.planning.by_shape([pod for pod in members.waiting if pod.uid in plan.places])
        if any(self.planning.has_cluster_rules(pods[0], self.planned_nodes) for pods in groups):
            return {}
        given: dict[str, list[str]] = {}
        taken: set[str] = set()
        for pods in groups:
            limit = max(0, min(MAX_ALTERNATIVES * len(pods), MAX_SPARE_NODES - len(taken)))
            spare = (name for name in self.planning.spare(pods[0], nodes, self.planned_nodes) if name not in taken)
            names = list(islice(spare, limit))
            for index, name in enumerate(names):
                given.setdefault(pods[index % len(pods)].uid, []).append(name)
            taken.update(names)
        return {uid: tuple(each) for uid, each in given.items()}


REASON_UNFINISHED = "gang waits: to plan all gangs takes longer than this call"


class PlanningRound:
    """For one thread at a time. When it is finished, threads may share its plans."""

    def __init__(
        self, gangs: Sequence[GangMembers], plans: Plans, candidates: CandidatesByShape, began_at: float
    ) -> None:
        """gangs: in the order in which they are planned. plans: none is made yet. began_at: seconds since the epoch."""
        self.began_at = began_at
        self._gangs, self._plans, self._candidates = gangs, plans, candidates
        self._planned, self._extended = 0, 0
        self._is_finished = False
        self.is_slow = False
        """Whether it takes more than one call, though that had time."""

    def finished(self, limited: TimeLimited, call: DecisionDeadline) -> Plans:
        """The plans of all gangs. Raises DeadlineExceeded; then the next call goes on."""
        if not self._is_finished:
            seconds_left = call.remaining()
            try:
                self._go_on(limited, call)
            except DeadlineExceeded as error:
                self.is_slow |= limited.is_enough(seconds_left)
                raise DeadlineExceeded(REASON_UNFINISHED) from error
            self._candidates.deadline = NO_DECISION_DEADLINE
            self._is_finished = True
        return self._plans

    def _go_on(self, limited: TimeLimited, call: DecisionDeadline) -> None:
        for members in self._gangs[self._planned :]:
            self._plan(members, limited, call)
            self._planned += 1
        for members in self._gangs[self._extended :]:
            self._place_extra(members, limited, call)
            self._extended += 1

    def _plan(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        def plan(deadline: DecisionDeadline) -> tuple[GangOutcome]:
            self._candidates.deadline = deadline
            return (self._plans.plan(members),)

        kind = f"plan of {members.gang.minimum} of {members.key}"
        planned = limited.run(kind, members.waiting[0], plan, call.remaining())
        self._plans.members[members.key] = members
        self._plans.outcomes[members.key] = GangWait.TOO_COSTLY if planned is None else planned[0]

    def _place_extra(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        """Where it takes too long, members beyond the minimum have no place."""
        outcome = self._plans.outcomes[members.key]
        if not isinstance(outcome, GangPlan) or len(members.waiting) == len(outcome.places):
            return

        def place(deadline: DecisionDeadline) -> None:
            self._candidates.deadline = deadline
            self._plans.place_extra(outcome, members)

        limited.run(
            f"members beyond {members.gang.minimum} of {members.key}", members.waiting[0], place, call.remaining()
        )
