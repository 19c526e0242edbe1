"""The plans of all gangs on one state, and the nodes that each member gets from its gang's plan.

The creators of pods determine the number of gangs, and the work for each gang. A call stops at its deadline, and the
next call on this state continues there; the call's pod does not count as too costly. If the planning of a gang begins
with at least half of a decision's time limit and does not end, the gang is not planned for a while (`TimeLimited`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from berth.scheduling.evaluation.time_limit import (
    NO_DECISION_DEADLINE,
    DeadlineExceeded,
    DecisionDeadline,
    TimeLimited,
)
from berth.scheduling.gangs.gang import GangError, GangKey, GangWait
from berth.scheduling.gangs.members import GangMembers
from berth.scheduling.gangs.planned_nodes import PlannedNodes
from berth.scheduling.gangs.planning import GangPlan, GangPlanning
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_list import NodeRefs

MAX_ALTERNATIVES = 8
"""The maximum number of alternative nodes of one member."""

MAX_SPARE_NODES = 256
"""The maximum number of alternative nodes of a gang, over all its members."""

GangOutcome = GangPlan | GangError | GangWait | None
"""The outcome for a gang with a waiting member; None for a committed gang: its members are placed alone."""


Places = tuple[str, ...]
"""The nodes that a member may go to. The planned node is first, if the request has it."""


@dataclass(slots=True)
class Plans:
    """The plans of all gangs. Once planning has ended, only `alternatives` changes.

    planned_nodes: the nodes with all planned members. members, outcomes: in planning order. extra: the places of
    members beyond the number that their gangs need, by UID.
    """

    planned_nodes: PlannedNodes
    planning: GangPlanning
    members: dict[GangKey, GangMembers] = field(default_factory=dict)
    outcomes: dict[GangKey, GangOutcome] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    alternatives: dict[GangKey, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def place_committed(self, members: GangMembers) -> None:
        """Place members that are getting their Bindings: the cache does not show them on their nodes yet."""
        for pod in members.waiting:
            name = members.arrived.get(pod.uid)
            if name is not None and name in self.planned_nodes.snapshot.nodes:
                self.planned_nodes.place(pod, name)

    def plan(self, members: GangMembers) -> GangOutcome:
        """Plan the next gang and return its outcome. If its members get places, add them to the planned nodes."""
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
        if members.gang.minimum > allowed:
            return GangError.LARGER_THAN_CLUSTER
        short = self.planned_nodes.short_pools(members.waiting[: members.gang.minimum])
        # A gang that requests more than the capacity must not wait for the pool: other pods would wait forever.
        waits = bool(short) and all(each.needed <= each.capacity for each in short.values())
        return GangWait.FOR_POOL if waits else GangWait.FOR_ROOM

    def place_extra(self, plan: GangPlan, members: GangMembers) -> None:
        """Place members beyond the minimum in the room that all gangs leave, or none of them if the time ends."""
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

    def includes(self, pod: Pod, key: GangKey) -> bool:
        """Return whether this member of the gang was waiting when planning began."""
        return key in self.members and any(each.uid == pod.uid for each in self.members[key].waiting)

    def places(self, pod: Pod, nodes: NodeRefs, best: GangPlan, members: GangMembers) -> Places | GangWait:
        """Return the places of a member among the nodes of a request. best: the best plan of its gang."""
        requested = frozenset(nodes.names)
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
            return allowed
        # The request lacks these nodes: the scheduler has rejected them, by data that is newer than the cache.
        domain = self.planning.nodes_of(members, plan, self.planned_nodes)
        within = requested if domain is None else requested & domain
        others = tuple(islice(self.planning.spare(pod, within, self.planned_nodes), MAX_ALTERNATIVES))
        if others:
            return others
        # Members of one shape may swap places.
        taken = [plan.places[each.uid] for each in self.planning.alike(pod, members) if each.uid in plan.places]
        changed = tuple(dict.fromkeys(name for name in taken if name in requested))
        return changed or GangWait.FOR_ROOM

    def _alternatives(self, plan: GangPlan, members: GangMembers) -> Mapping[str, tuple[str, ...]]:
        """Return alternative nodes for each member. Members do not share them, so any choice keeps the plan valid. The
        nodes have room after all gangs are planned. The result is empty if a filter looks at all nodes."""
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
    """Plans all gangs on one state. Use it in one thread at a time. Finished plans are thread-safe."""

    def __init__(self, gangs: Sequence[GangMembers], plans: Plans, began_at: float) -> None:
        """Prepare the round. gangs: in planning order. plans: the plans to fill. began_at: seconds since the epoch."""
        self.began_at = began_at
        self._gangs, self._plans = gangs, plans
        self._planned, self._extended = 0, 0
        self._is_finished = False
        self.is_slow = False
        """True if a call did not finish planning although it had at least half of a decision's time limit."""

    def finished(self, limited: TimeLimited, call: DecisionDeadline) -> Plans:
        """Return the plans of all gangs. Raises DeadlineExceeded; the next call then continues."""
        if not self._is_finished:
            seconds_left = call.remaining()
            try:
                for members in self._gangs[self._planned :]:
                    self._plan(members, limited, call)
                    self._planned += 1
                for members in self._gangs[self._extended :]:
                    self._place_extra(members, limited, call)
                    self._extended += 1
            except DeadlineExceeded as error:
                self.is_slow |= limited.is_enough(seconds_left)
                raise DeadlineExceeded(REASON_UNFINISHED) from error
            self._plans.planning.deadline = NO_DECISION_DEADLINE
            self._is_finished = True
        return self._plans

    def _plan(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        def plan(deadline: DecisionDeadline) -> tuple[GangOutcome]:
            self._plans.planning.deadline = deadline
            return (self._plans.plan(members),)

        kind = f"plan of {members.gang.minimum} of {members.key}"
        planned = limited.run(kind, members.waiting[0], plan, call.remaining())
        self._plans.members[members.key] = members
        self._plans.outcomes[members.key] = GangWait.TOO_COSTLY if planned is None else planned[0]

    def _place_extra(self, members: GangMembers, limited: TimeLimited, call: DecisionDeadline) -> None:
        """Place members beyond the minimum. If that takes too long, they do not get a place."""
        outcome = self._plans.outcomes[members.key]
        if not isinstance(outcome, GangPlan) or len(members.waiting) == len(outcome.places):
            return

        def place(deadline: DecisionDeadline) -> None:
            self._plans.planning.deadline = deadline
            self._plans.place_extra(outcome, members)

        limited.run(
            f"members beyond {members.gang.minimum} of {members.key}", members.waiting[0], place, call.remaining()
        )
