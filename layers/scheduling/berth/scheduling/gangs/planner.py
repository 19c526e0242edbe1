"""What filter answers for the members of gangs: places by a plan of all gangs that wait.

Gangs are planned one after the other, by priority and then by age. Each gets what the earlier ones leave, and a gang
that does not fit takes nothing. So two gangs never wait for each other, and a small gang may pass a large one that does
not fit. The plan depends on the snapshot, the pods that are being bound and the open gangs, and on nothing else: the
calls of all members find the same one. It is made once for each state of these and remembered.

Nothing is written: kube-scheduler also asks for members that it only tries (facts G1 and G2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.time_limit import DecisionDeadline
from berth.scheduling.framework.profile import Profile
from berth.scheduling.framework.status import Status, unresolvable
from berth.scheduling.gangs.gang import (
    REASON_OTHER_DOMAIN,
    Gang,
    GangError,
    GangKey,
    GangsConfiguration,
    GangWait,
    InvalidGang,
    OpenGang,
    gang_of,
)
from berth.scheduling.gangs.members import GangMembers, domains_of, gangs_in, is_committed
from berth.scheduling.gangs.planning import GangPlan, GangPlanning
from berth.scheduling.gangs.plans import GangOutcome, Places, Plans
from berth.scheduling.gangs.room import Candidates, room_of
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
OTHER_DOMAIN = unresolvable(NAME, REASON_OTHER_DOMAIN, reason_code=ReasonCode.GANG_IN_OTHER_DOMAIN)
STATUSES: Mapping[GangError | GangWait, Status] = {
    **{error: unresolvable(NAME, str(error), reason_code=ReasonCode.GANG_INVALID) for error in GangError},
    GangWait.FOR_MEMBERS: unresolvable(NAME, str(GangWait.FOR_MEMBERS), reason_code=ReasonCode.GANG_WAITS_FOR_MEMBERS),
    GangWait.FOR_ROOM: unresolvable(NAME, str(GangWait.FOR_ROOM), reason_code=ReasonCode.GANG_DOES_NOT_FIT),
}
"""Unresolvable: a gang never evicts for a part of itself, and in the other map kube-scheduler would try the pod in a
hot loop (fact 15 and decision 0002; G6)."""

ROUNDS = 4
"""States of which the plans are remembered: threads may be a state apart, and a member may be new."""


@dataclass(frozen=True, slots=True)
class InDomain:
    """The member is placed like other pods, but not on these nodes of the request: its gang is committed in another
    topology domain."""

    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedGang:
    """What becomes of a gang with a member that waits. outcome: None for a committed gang. places: nodes by UID, of the
    members that have one. shortage: of a gang that does not fit."""

    members: GangMembers
    outcome: GangOutcome
    places: Mapping[str, str]
    shortage: Shortage | None = None


@dataclass(frozen=True, slots=True)
class GangOutlook:
    """What becomes of one gang, for explanations.

    outcome: None for a committed gang. places: by UID, of as many members as fit together. most: their number. placed:
    all pods that are planned by then, on their nodes. before: the gangs with places that are planned before it.
    """

    members: GangMembers
    outcome: GangOutcome
    places: Mapping[str, str]
    placed: Sequence[Pod]
    before: tuple[GangKey, ...]

    @property
    def most(self) -> int:
        """How many members fit together."""
        return len(self.places)


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
        self._rounds: deque[tuple[_State, Plans]] = deque(maxlen=ROUNDS)
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
    ) -> Places | InDomain | GangError | GangWait | None:
        """Where this member may go among the nodes of a request, or why it waits. None: it is placed like other pods.

        Raises DeadlineExceeded.
        """
        gang = gang_of(pod, snapshot.pod_groups, self._configuration)
        if gang is None:
            return None
        if isinstance(gang, InvalidGang):
            return gang.error
        found = self._round(pod, snapshot, open_gangs, deadline)
        outcome: GangOutcome = None
        if gang.key in found.outcomes:
            outcome = found.outcomes[gang.key]
        elif not is_committed(gang.key, snapshot, open_gangs, pod):
            # No member waits: this one is terminating, is on a node by now, or its last bind has left a reservation.
            outcome = GangWait.FOR_MEMBERS
        if isinstance(outcome, GangPlan):
            return found.places(pod, nodes, outcome, found.members[gang.key])
        return outcome or InDomain(self.outside(pod, nodes.names, snapshot, open_gangs))

    def outside(
        self, pod: Pod, names: Iterable[str], snapshot: Snapshot, open_gangs: Sequence[OpenGang] = ()
    ) -> tuple[str, ...]:
        """The nodes among these where a member of a committed gang may not go: all members are in one topology domain.
        Empty where its gang has no topology key."""
        gang = gang_of(pod, snapshot.pod_groups, self._configuration)
        if not isinstance(gang, Gang) or not gang.topology_key:
            return ()
        values = domains_of(gang, snapshot, open_gangs)
        known = snapshot.nodes
        return tuple(
            name for name in names if name in known and known[name].labels.get(gang.topology_key) not in values
        )

    def planned(
        self, snapshot: Snapshot, open_gangs: Sequence[OpenGang], deadline: DecisionDeadline
    ) -> Sequence[PlannedGang]:
        """All gangs with a member that waits, in the order in which they are planned. For people: filter's answers are
        those of `decide`. Raises DeadlineExceeded."""
        found = self._planned(snapshot, open_gangs, None, deadline)
        return [self._described(members, outcome, found) for members, outcome in found.each()]

    def _described(self, members: GangMembers, outcome: GangOutcome, found: Plans) -> PlannedGang:
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
        found = self._plans_for(gangs, snapshot, deadline)
        for members in gangs:
            if members.key != key:
                found.outcomes[members.key] = found.plan(members)
                continue
            before = tuple(name for name, outcome in found.outcomes.items() if isinstance(outcome, GangPlan))
            plan, room = found.largest(members)
            return GangOutlook(members, found.plan(members), plan.places, room.placed, before)
        return None

    def _round(self, pod: Pod, snapshot: Snapshot, open_gangs: Sequence[OpenGang], deadline: DecisionDeadline) -> Plans:
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
    ) -> Plans:
        gangs = gangs_in(snapshot, self._configuration, open_gangs, unknown)
        found = self._plans_for(gangs, snapshot, deadline)
        for members in gangs:
            deadline.check()
            found.members[members.key] = members
            found.outcomes[members.key] = found.plan(members)
        for key, outcome in found.outcomes.items():
            if isinstance(outcome, GangPlan):
                found.place_extra(outcome, found.members[key])
        return found

    def _plans_for(self, gangs: Sequence[GangMembers], snapshot: Snapshot, deadline: DecisionDeadline) -> Plans:
        """No gang is planned yet; members that are committed have their places."""
        # Without what members that wait have reserved: those in the barrier keep their nodes by the plan.
        room = room_of(snapshot, self._counting, {pod.uid for members in gangs for pod in members.waiting})
        found = Plans(room, self._planning_on(snapshot.base, deadline))
        for members in gangs:
            if members.is_committed:
                found.place_committed(members)
        return found

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
