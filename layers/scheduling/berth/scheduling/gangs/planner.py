"""Decides which nodes filter returns for members of gangs, from a plan of all waiting gangs.

Gangs are planned one after the other, by priority and then by age. Each gang gets the room that earlier gangs leave,
and a gang that does not fit does not use room. So two gangs never wait for each other, and a small gang may overtake a
large gang that does not fit. The plan depends only on the snapshot, the pods that are being bound and the open gangs:
the calls of all members find the same plan. The plan is computed once for each such state, in one or several calls.

Planning does not write to a table: kube-scheduler also calls filter for members that it only tries (facts G1 and G2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import TYPE_CHECKING

from berth.scheduling.evaluation.time_limit import (
    NO_DECISION_DEADLINE,
    NO_TIME_LIMIT,
    DeadlineExceeded,
    TimeLimited,
)
from berth.scheduling.framework.plugin import Status, unresolvable
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
from berth.scheduling.gangs.members import (
    GangMembers,
    KnownGangs,
    WasExempt,
    domains_of,
    gangs_in,
    is_committed,
    members_of,
)
from berth.scheduling.gangs.planned_nodes import Evaluate, PlannedNodeCache, ProfileOf, planned_nodes_of
from berth.scheduling.gangs.planning import GangPlan, GangPlanning
from berth.scheduling.gangs.plans import REASON_UNFINISHED, GangOutcome, Places, PlanningRound, Plans
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotId
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from berth.scheduling.gangs.overview import GangStatus

NAME = "Gang"

REASON_ELSEWHERE = "gang has its places on other nodes"
"""The reason on the other nodes if a member has a planned node. The filters may accept these nodes, too."""

ELSEWHERE = unresolvable(NAME, REASON_ELSEWHERE, reason_code=ReasonCode.GANG_PLACED_ELSEWHERE)
OTHER_DOMAIN = unresolvable(NAME, REASON_OTHER_DOMAIN, reason_code=ReasonCode.GANG_IN_OTHER_DOMAIN)
STATUSES: Mapping[GangError | GangWait, Status] = {
    **{error: unresolvable(NAME, str(error), reason_code=ReasonCode.GANG_INVALID) for error in GangError},
    GangWait.FOR_MEMBERS: unresolvable(NAME, str(GangWait.FOR_MEMBERS), reason_code=ReasonCode.GANG_WAITS_FOR_MEMBERS),
    GangWait.FOR_ROOM: unresolvable(NAME, str(GangWait.FOR_ROOM), reason_code=ReasonCode.GANG_DOES_NOT_FIT),
    GangWait.FOR_POOL: unresolvable(NAME, str(GangWait.FOR_POOL), reason_code=ReasonCode.GANG_WAITS_FOR_POOL),
    GangWait.TOO_COSTLY: unresolvable(NAME, str(GangWait.TOO_COSTLY), reason_code=ReasonCode.TOO_COSTLY),
}
"""All statuses are unresolvable: pods are never evicted for only a part of a gang, and with nodes in FailedNodes
kube-scheduler would retry the pod in a hot loop (facts 15 and G6, decision 0002)."""

SLOW_ROUND_SECONDS = 30.0
"""The seconds for which a round of several calls stays valid despite changes. Otherwise a round would never end in a
cluster that changes all the time. Bind and the scheduler's own filters use the current state."""

ROUNDS = 4
"""The number of states whose plans are cached: threads may use different states, and a member that the snapshot lacks
is a part of the state."""


@dataclass(frozen=True, slots=True)
class InDomain:
    """The result for a member that is placed alone, because its gang is committed. outside: the nodes of the request
    that are not in the gang's topology domain; empty if the gang does not have a topology key."""

    outside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GangPlacement:
    """The placement of one gang, for explanations.

    outcome: None for a committed gang. places: the nodes, by UID, of as many members as fit together. placed: the pods
    that are being bound or have been planned, on their nodes. before: the earlier gangs that have places.
    """

    members: GangMembers
    outcome: GangOutcome
    places: Mapping[str, str]
    placed: Sequence[Pod]
    before: tuple[GangKey, ...]


MAX_CACHE_SIZE = 20_000
"""The number of entries, in addition to 4 for each waiting member, above which a new cache replaces the old one."""

_State = tuple[SnapshotId, Mapping[str, tuple[Pod, ...]], tuple[OpenGang, ...], str]
"""The state that a round depends on: the moment of the snapshot, assumed pods, open gangs, and the UID of a member that
the snapshot lacks."""

UNLIMITED = TimeLimited(NO_TIME_LIMIT)


class GangPlanner:
    """Plans gangs in a warm environment, and caches the plans. Thread-safe."""

    def __init__(
        self,
        configuration: GangsConfiguration,
        counting: Counting,
        profile_of: ProfileOf,
        evaluate: Evaluate,
        was_exempt: WasExempt,
        limited: TimeLimited = UNLIMITED,
    ) -> None:
        """Start without plans. profile_of: returns the profile with all filters for a member. evaluate: its results are
        cached by shape. limited: limits `decide`, and caches which gangs are too costly to plan."""
        self._configuration, self._counting, self._was_exempt = configuration, counting, was_exempt
        self._profile_of, self._evaluate, self._limited = profile_of, evaluate, limited
        self._cache = PlannedNodeCache(profile_of, counting)
        self._gangs: KnownGangs = {}
        self._rounds: deque[tuple[_State, PlanningRound]] = deque(maxlen=ROUNDS)
        self._lock = Lock()

    def is_member(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Return whether the pod is placed together with its gang, or requests an invalid gang. Members of a committed
        gang are placed alone."""
        found = gang_of(pod, snapshot.pod_groups, self._configuration)
        if not isinstance(found, Gang):
            return found is not None
        return not self._is_committed(found.key, snapshot)

    def decide(
        self,
        pod: Pod,
        nodes: NodeRefs,
        snapshot: Snapshot,
        open_gangs: Sequence[OpenGang],
        seconds_left: float = inf,
    ) -> Places | InDomain | GangError | GangWait | None:
        """Return the pod's places among the nodes, or the reason to wait; InDomain if its gang is committed; None if
        it is not in a gang. Raises DeadlineExceeded if the time ends before planning ends; the next call continues."""
        gang = gang_of(pod, snapshot.pod_groups, self._configuration)
        if gang is None:
            return None
        if isinstance(gang, InvalidGang):
            return gang.error
        found = self._plans(pod, gang.key, snapshot, open_gangs, seconds_left)
        outcome: GangOutcome = None
        if gang.key in found.outcomes:
            outcome = found.outcomes[gang.key]
        elif not self._is_committed(gang.key, snapshot, open_gangs, pod):
            # No member of the gang waits: this pod is terminating, has a node by now, or still has a reservation.
            outcome = GangWait.FOR_MEMBERS
        if isinstance(outcome, GangPlan):
            return found.places(pod, nodes, outcome, found.members[gang.key])
        return outcome or InDomain(self.outside(pod, nodes.names, snapshot, open_gangs))

    def gang_of(self, pod: Pod, snapshot: Snapshot) -> Gang | None:
        """Return the gang with which the pod is placed; None if the pod is placed alone."""
        found = gang_of(pod, snapshot.pod_groups, self._configuration) if self.is_member(pod, snapshot) else None
        return found if isinstance(found, Gang) else None

    def statuses(self, snapshot: Snapshot, open_gangs: Sequence[OpenGang]) -> list[GangStatus]:
        """Return the gangs of the cluster, each with the reason why it waits. The planning does not have a time
        limit."""
        # Import this only here: a cold start of a verb does not need the module.
        from berth.scheduling.gangs.overview import overview

        plans = self._new_round(snapshot, open_gangs, None).finished(UNLIMITED, NO_DECISION_DEADLINE)
        return overview(snapshot, self._configuration, self._counting, self._was_exempt, plans)

    def barred(self, pod: Pod, names: Collection[str], snapshot: Snapshot) -> Collection[str]:
        """Return the nodes in `names` on which pods must not be evicted for this member: all nodes until its gang is
        committed, because the other members may still not fit."""
        return names if self.is_member(pod, snapshot) else self.outside(pod, names, snapshot)

    def outside(
        self, pod: Pod, names: Iterable[str], snapshot: Snapshot, open_gangs: Sequence[OpenGang] = ()
    ) -> tuple[str, ...]:
        """Return the nodes that are not in the topology domain of the member's committed gang. The result is empty if
        the gang does not have a topology key."""
        gang = gang_of(pod, snapshot.pod_groups, self._configuration)
        if not isinstance(gang, Gang) or not gang.topology_key:
            return ()
        members = members_of(gang.key, snapshot, self._was_exempt)
        values = domains_of(gang, members.values(), snapshot, open_gangs)
        known = snapshot.nodes
        return tuple(
            name for name in names if name in known and known[name].labels.get(gang.topology_key) not in values
        )

    def placement(self, key: GangKey, snapshot: Snapshot, open_gangs: Sequence[OpenGang]) -> GangPlacement | None:
        """Plan the gangs up to this one, without a cache or a time limit. Return None if no member of it waits."""
        gangs, _ = gangs_in(snapshot, self._configuration, self._was_exempt, open_gangs, None, {})
        found = self._plans_for(gangs, snapshot)
        for members in gangs:
            before = tuple(name for name, outcome in found.outcomes.items() if isinstance(outcome, GangPlan))
            outcome = found.outcomes[members.key] = found.plan(members)
            if members.key == key:
                if isinstance(outcome, GangPlan):
                    return GangPlacement(members, outcome, outcome.places, found.planned_nodes.placed, before)
                most = found.planning.most(members, found.planned_nodes)
                return GangPlacement(members, outcome, most.places, most.planned_nodes.placed, before)
        return None

    def _plans(
        self, pod: Pod, key: GangKey, snapshot: Snapshot, open_gangs: Sequence[OpenGang], seconds_left: float
    ) -> Plans:
        call = self._limited.deadline(seconds_left)
        base = snapshot.base
        unknown = None if pod.uid in base.unbound else pod
        state = base.history.moment, snapshot.assumed, tuple(open_gangs), "" if unknown is None else pod.uid
        # One thread plans; the other threads wait, and then use its plans or continue planning.
        with self._lock:
            slow = self._slow_round()
            if slow is not None:
                found = slow.finished(self._limited, call)
                if not found.includes(pod, key) and not self._is_committed(key, snapshot, open_gangs, pod):
                    # The member was created after the round began.
                    raise DeadlineExceeded(REASON_UNFINISHED)
                return found
            for known, each in self._rounds:
                if known[0] is state[0] and known == state:
                    return each.finished(self._limited, call)
            began = self._new_round(snapshot, open_gangs, unknown)
            self._rounds.appendleft((state, began))
            return began.finished(self._limited, call)

    def _slow_round(self) -> PlanningRound | None:
        latest = self._rounds[0][1] if self._rounds else None
        if latest is None or not latest.is_slow:
            return None
        # A negative age means that the wall clock was set back.
        return latest if 0 <= self._limited.wall() - latest.began_at < SLOW_ROUND_SECONDS else None

    def _new_round(self, snapshot: Snapshot, open_gangs: Sequence[OpenGang], unknown: Pod | None) -> PlanningRound:
        gangs, self._gangs = gangs_in(snapshot, self._configuration, self._was_exempt, open_gangs, unknown, self._gangs)
        return PlanningRound(gangs, self._plans_for(gangs, snapshot), self._limited.wall())

    def _plans_for(self, gangs: Sequence[GangMembers], snapshot: Snapshot) -> Plans:
        """Create the plans, so far with the places of committed members only."""
        # Do not count reservations of waiting members: the plan itself keeps members that wait in bind on their nodes.
        waiting = {pod.uid for members in gangs for pod in members.waiting}
        if self._cache.size > MAX_CACHE_SIZE + 4 * len(waiting):
            self._cache = PlannedNodeCache(self._profile_of, self._counting)
        planned_nodes = planned_nodes_of(snapshot, self._counting, self._cache, waiting)
        found = Plans(planned_nodes, GangPlanning(self._evaluate, snapshot.base, self._cache))
        for members in gangs:
            if members.is_committed:
                found.place_committed(members)
        return found

    def _is_committed(
        self, key: GangKey, snapshot: Snapshot, open_gangs: Sequence[OpenGang] = (), asked: Pod | None = None
    ) -> bool:
        """Return whether the gang is committed. asked: a member that the snapshot may lack."""
        members = members_of(key, snapshot, self._was_exempt).values()
        open_gang = next((each for each in open_gangs if each.key == key), None)
        return is_committed(members if asked is None else (*members, asked), open_gang)
