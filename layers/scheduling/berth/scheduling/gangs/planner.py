"""What filter answers for the members of gangs: places by a plan of all gangs that wait.

Gangs are planned one after the other, by priority and then by age. Each gets what the earlier ones leave, and a gang
that does not fit takes nothing. So two gangs never wait for each other, and a small gang may pass a large one that does
not fit. The plan depends on the snapshot, the pods that are being bound and the open gangs, and on nothing else: the
calls of all members find the same one. It is made once for each state of these and remembered.

Nothing is written: kube-scheduler also asks for members that it only tries (facts G1 and G2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Lock

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.time_limit import DecisionDeadline
from berth.scheduling.framework.profile import Profile
from berth.scheduling.framework.status import Status, unresolvable
from berth.scheduling.gangs.gang import (
    Gang,
    GangError,
    GangKey,
    GangsConfiguration,
    GangWait,
    InvalidGang,
    OpenGang,
    gang_of,
)
from berth.scheduling.gangs.members import GangMembers, gangs_in, is_committed
from berth.scheduling.gangs.planning import GangPlan, GangPlanning
from berth.scheduling.gangs.room import Candidates, Room, room_of
from berth.scheduling.gangs.shortage import Shortage, shortage_of
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotId
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

NAME = "Gang"

REASON_ELSEWHERE = "gang has its places on other nodes"
"""Given on the other nodes where a member has a place. They are no failure: the pod is feasible."""

ELSEWHERE = unresolvable(NAME, REASON_ELSEWHERE, reason_code=ReasonCode.GANG_PLACED_ELSEWHERE)
STATUSES: Mapping[GangError | GangWait, Status] = {
    **{error: unresolvable(NAME, str(error), reason_code=ReasonCode.GANG_INVALID) for error in GangError},
    GangWait.FOR_MEMBERS: unresolvable(NAME, str(GangWait.FOR_MEMBERS), reason_code=ReasonCode.GANG_WAITS_FOR_MEMBERS),
    GangWait.FOR_ROOM: unresolvable(NAME, str(GangWait.FOR_ROOM), reason_code=ReasonCode.GANG_DOES_NOT_FIT),
}
"""Unresolvable: a gang never evicts for a part of itself, and in the other map kube-scheduler would try the pod in a
hot loop (fact 15 and decision 0002; G6)."""

MAX_ALTERNATIVES = 8
"""Of a member."""

MAX_SPARE_NODES = 256
"""Alternatives of a gang, for all its members."""

ROUNDS = 4
"""States of which the plans are remembered: threads may be a state apart, and a member may be new."""


@dataclass(frozen=True, slots=True)
class Places:
    """The nodes that a member may go to, the place of the plan first."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedGang:
    """What becomes of a gang with a member that waits. outcome: None for a committed gang. places: nodes by UID, of the
    members that have one. shortage: of a gang that does not fit."""

    members: GangMembers
    outcome: GangPlan | GangError | GangWait | None
    places: Mapping[str, str]
    shortage: Shortage | None = None


@dataclass(frozen=True, slots=True)
class GangOutlook:
    """What becomes of one gang, for explanations.

    outcome: None for a committed gang. places: by UID, of as many members as fit together. most: their number. placed:
    all pods that are planned by then, on their nodes. before: the gangs with places that are planned before it.
    """

    members: GangMembers
    outcome: GangPlan | GangError | GangWait | None
    places: Mapping[str, str]
    placed: Sequence[Pod]
    before: tuple[GangKey, ...]

    @property
    def most(self) -> int:
        """How many members fit together."""
        return len(self.places)


class _Requested(Container[str]):
    """The nodes of a request."""

    def __init__(self, nodes: NodeRefs) -> None:
        self._source, self._positions = nodes.source, frozenset(nodes.positions)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._source[name] in self._positions


class _Both(Container[str]):
    """The nodes of a request that are in a domain, too."""

    def __init__(self, requested: Container[str], domain: Container[str]) -> None:
        self._requested, self._domain = requested, domain

    def __contains__(self, name: object) -> bool:
        return name in self._domain and name in self._requested


@dataclass(slots=True)
class _Round:
    """The plans of all gangs on one state. When they are made, only `alternatives` grows.

    room: with all of them. outcomes: what became of each gang; None for a committed one: its members are placed alone.
    extra: the places of members beyond those that their gangs need, by UID.
    """

    room: Room
    planning: GangPlanning
    members: dict[GangKey, GangMembers] = field(default_factory=dict)
    outcomes: dict[GangKey, GangPlan | GangError | GangWait | None] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    alternatives: dict[GangKey, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _State:
    """What a round depends on. The moment is the same object or another one; the rest is compared."""

    moment: SnapshotId
    assumed: Mapping[str, tuple[Pod, ...]]
    open_gangs: tuple[OpenGang, ...]
    unknown: str


Evaluate = Callable[[Profile, Pod, Snapshot, DecisionDeadline], Evaluation]
ProfileOf = Callable[[Pod], Profile]


class GangPlanner:
    """Of a warm environment. Threads may share it."""

    def __init__(
        self, configuration: GangsConfiguration, counting: Counting, profile_of: ProfileOf, evaluate: Evaluate
    ) -> None:
        """profile_of: with all filters that decide where a member may go. evaluate: of one shape, remembered."""
        self._configuration, self._counting = configuration, counting
        self._profile_of, self._evaluate = profile_of, evaluate
        self._rounds: deque[tuple[_State, _Round]] = deque(maxlen=ROUNDS)
        self._lock = Lock()

    def is_member(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Whether the pod is placed with others, or asks for it wrongly.

        Members of a committed gang are placed alone.
        """
        found = gang_of(pod, snapshot.pod_groups, self._configuration)
        if not isinstance(found, Gang):
            return found is not None
        return not is_committed(found.key, snapshot)

    def decide(
        self,
        pod: Pod,
        nodes: NodeRefs,
        snapshot: Snapshot,
        open_gangs: Sequence[OpenGang],
        deadline: DecisionDeadline,
    ) -> Places | GangError | GangWait | None:
        """Where this member may go among the nodes of a request, or why it waits. None: it is placed like other pods.

        Raises DeadlineExceeded.
        """
        gang = gang_of(pod, snapshot.pod_groups, self._configuration)
        if gang is None:
            return None
        if isinstance(gang, InvalidGang):
            return gang.error
        found = self._round(pod, snapshot, open_gangs, deadline)
        if gang.key not in found.outcomes:
            # No member waits: this one is terminating, is on a node by now, or its last bind has left a reservation.
            return None if is_committed(gang.key, snapshot, open_gangs, pod) else GangWait.FOR_MEMBERS
        outcome = found.outcomes[gang.key]
        if isinstance(outcome, GangPlan):
            return self._places(pod, _Requested(nodes), outcome, found.members[gang.key], found)
        return outcome

    def planned(
        self, snapshot: Snapshot, open_gangs: Sequence[OpenGang], deadline: DecisionDeadline
    ) -> Sequence[PlannedGang]:
        """All gangs with a member that waits, in the order in which they are planned. For people: filter's answers are
        those of `decide`. Raises DeadlineExceeded."""
        found = self._planned(snapshot, open_gangs, None, deadline)
        return [self._described(members, outcome, found) for members, outcome in _outcomes(found)]

    def _described(
        self, members: GangMembers, outcome: GangPlan | GangError | GangWait | None, found: _Round
    ) -> PlannedGang:
        if isinstance(outcome, GangPlan):
            extra = {pod.uid: found.extra[pod.uid] for pod in members.waiting if pod.uid in found.extra}
            return PlannedGang(members, outcome, {**outcome.places, **extra})
        if outcome is not GangWait.FOR_ROOM:
            return PlannedGang(members, outcome, {})
        groups = found.planning.by_shape(members.waiting[: members.gang.minimum])
        placed = found.planning.most(members, found.room)
        return PlannedGang(members, outcome, {}, shortage_of(groups, placed, found.room, self._counting))

    def outlook(
        self, key: GangKey, snapshot: Snapshot, open_gangs: Sequence[OpenGang], deadline: DecisionDeadline
    ) -> GangOutlook | None:
        """What becomes of this gang; None where no member of it waits. Nothing is remembered.

        Raises DeadlineExceeded.
        """
        gangs = gangs_in(snapshot, self._configuration, open_gangs)
        found = _Round(self._room_for(gangs, snapshot), self._planning_on(snapshot.base, deadline))
        for members in gangs:
            if members.is_committed:
                _place(members, found.room)
        for members in gangs:
            if members.key != key:
                found.outcomes[members.key] = _outcome(members, found)
                continue
            before = tuple(name for name, outcome in found.outcomes.items() if isinstance(outcome, GangPlan))
            plan, room = _largest_plan(members, found)
            return GangOutlook(members, _outcome(members, found), plan.places, room.placed, before)
        return None

    def _round(
        self, pod: Pod, snapshot: Snapshot, open_gangs: Sequence[OpenGang], deadline: DecisionDeadline
    ) -> _Round:
        base = snapshot.base
        unknown = None if pod.uid in base.unbound else pod
        state = _State(base.history.moment, snapshot.assumed, tuple(open_gangs), "" if unknown is None else pod.uid)
        # One thread plans; the others of this state wait and find its plan.
        with self._lock:
            for known, found in self._rounds:
                if known.moment is state.moment and known == state:
                    return found
            found = self._planned(snapshot, open_gangs, unknown, deadline)
            self._rounds.appendleft((state, found))
        return found

    def _planned(
        self, snapshot: Snapshot, open_gangs: Sequence[OpenGang], unknown: Pod | None, deadline: DecisionDeadline
    ) -> _Round:
        gangs = gangs_in(snapshot, self._configuration, open_gangs, unknown)
        room = self._room_for(gangs, snapshot)
        found = _Round(room, self._planning_on(snapshot.base, deadline))
        for members in gangs:
            if members.is_committed:
                _place(members, room)
        for members in gangs:
            deadline.check()
            found.members[members.key] = members
            found.outcomes[members.key] = _outcome(members, found)
        for key, outcome in found.outcomes.items():
            if isinstance(outcome, GangPlan):
                _place_extra(outcome, found.members[key], found)
        return found

    def _room_for(self, gangs: Sequence[GangMembers], snapshot: Snapshot) -> Room:
        """Without what members that wait have reserved: those in the barrier keep their nodes by the plan."""
        return room_of(snapshot, self._counting, {pod.uid for members in gangs for pod in members.waiting})

    def _planning_on(self, base: Snapshot, deadline: DecisionDeadline) -> GangPlanning:
        known: dict[Hashable, Candidates] = {}
        shapes: dict[str, Hashable] = {}

        def shape_of(pod: Pod) -> Hashable:
            if pod.uid not in shapes:
                profile = self._profile_of(pod)
                shapes[pod.uid] = profile.name, profile.shapes(pod)
            return shapes[pod.uid]

        def candidates_of(pod: Pod) -> Candidates:
            shape = shape_of(pod)
            found = known.get(shape)
            if found is None:
                profile = self._profile_of(pod)
                found = known[shape] = Candidates(profile, pod, self._evaluate(profile, pod, base, deadline), deadline)
            return found

        return GangPlanning(shape_of, candidates_of)

    def _places(
        self, pod: Pod, requested: Container[str], best: GangPlan, members: GangMembers, found: _Round
    ) -> Places | GangWait:
        plan = best.among(requested)
        place = plan.places.get(pod.uid) or (found.extra.get(pod.uid) if plan is best else None)
        if place is None:
            return GangWait.FOR_ROOM
        alternatives: tuple[str, ...] = ()
        if plan is best:
            if members.key not in found.alternatives:
                found.alternatives[members.key] = _alternatives(plan, members, found)
            alternatives = found.alternatives[members.key].get(pod.uid, ())
        allowed = tuple(name for name in dict.fromkeys((place, *alternatives)) if name in requested)
        if allowed:
            return Places(allowed)
        # The scheduler knows something about these nodes that the cache does not.
        nodes = found.planning.nodes_of(members, plan, found.room)
        within = requested if nodes is None else _Both(requested, nodes)
        others = tuple(islice(found.planning.spare(pod, within, found.room), MAX_ALTERNATIVES))
        if others:
            return Places(others)
        # Members that are alike may change places.
        taken = [plan.places[each.uid] for each in found.planning.alike(pod, members) if each.uid in plan.places]
        changed = tuple(dict.fromkeys(name for name in taken if name in requested))
        return Places(changed) if changed else GangWait.FOR_ROOM


def _outcomes(found: _Round) -> Iterator[tuple[GangMembers, GangPlan | GangError | GangWait | None]]:
    for key, members in found.members.items():
        yield members, found.outcomes[key]


def _outcome(members: GangMembers, found: _Round) -> GangPlan | GangError | GangWait | None:
    """What becomes of a gang. Its members are put into the room if they have places."""
    if members.is_committed:
        return None
    if members.error is not None:
        return members.error
    if len(members.waiting) < members.gang.minimum:
        return GangWait.FOR_MEMBERS
    planned = found.planning.plan(members, found.room)
    if planned is not None:
        plan, found.room = planned
        return plan
    allowed = sum(node.allowed_pods for node in found.room.snapshot.nodes.values())
    return GangError.LARGER_THAN_CLUSTER if members.gang.minimum > allowed else GangWait.FOR_ROOM


def _largest_plan(members: GangMembers, found: _Round) -> tuple[GangPlan, Room]:
    """Places for as many members as fit together: of a gang that fits, for all that it needs."""
    best, fits, fails = (GangPlan({}), found.room), 0, min(len(members.waiting), members.gang.minimum) + 1
    while fails - fits > 1:
        number = (fits + fails) // 2
        planned = found.planning.plan(replace(members, gang=replace(members.gang, minimum=number)), found.room)
        if planned is None:
            fails = number
        else:
            best, fits = planned, number
    return best


def _place(committed: GangMembers, room: Room) -> None:
    """Members that get their Bindings: the cache does not have them on their nodes yet."""
    for pod in committed.waiting:
        name = committed.arrived.get(pod.uid)
        if name is not None and name in room.snapshot.nodes:
            room.place(pod, name)


def _place_extra(plan: GangPlan, members: GangMembers, found: _Round) -> None:
    """Members beyond those that the gang needs, on what all gangs leave."""
    nodes = found.planning.nodes_of(members, plan, found.room)
    for pod in members.waiting:
        if pod.uid not in plan.places:
            name = next(found.planning.spare(pod, nodes, found.room), None)
            if name is not None:
                found.extra[pod.uid] = name
                found.room.place(pod, name)


def _alternatives(plan: GangPlan, members: GangMembers, found: _Round) -> Mapping[str, tuple[str, ...]]:
    """Other nodes for each member, no node for two: whatever the scheduler chooses, the plan holds for the others.

    They have room when all gangs are planned. There are none where a filter looks at all nodes.
    """
    nodes = found.planning.nodes_of(members, plan, found.room)
    groups = found.planning.by_shape([pod for pod in members.waiting if pod.uid in plan.places])
    if any(found.planning.has_cluster_rules(pods[0], found.room) for pods in groups):
        return {}
    given: dict[str, list[str]] = {}
    taken: set[str] = set()
    for pods in groups:
        limit = max(0, min(MAX_ALTERNATIVES * len(pods), MAX_SPARE_NODES - len(taken)))
        spare = (name for name in found.planning.spare(pods[0], nodes, found.room) if name not in taken)
        names = list(islice(spare, limit))
        for index, name in enumerate(names):
            given.setdefault(pods[index % len(pods)].uid, []).append(name)
        taken.update(names)
    return {uid: tuple(each) for uid, each in given.items()}
