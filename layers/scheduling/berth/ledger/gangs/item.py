"""The items of gangs in the table: one for each gang, and the domain's item, which names the open gang. Pure.

The fence of a gang is its item's version, and of the domain its count of openings. A leader's epoch is not one: binds
write these items, too, and a late watcher only repeats what any other may do to the version that it has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from berth.ledger.nodes.entry import Shares
from berth.scheduling.gangs.gang import Gang, GangError, GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey

MAX_QUEUED_MEMBERS = 200
"""Most members in bind of gangs that are not open: the open gang's members must find a free execution environment or
thread. One gang may wait whatever its minimum. Of each gang, only the minimum of members waits."""

MAX_QUEUED_GANGS = 16
"""Most gangs in the queue. They are in the domain's item, which every member reads while it waits."""

QUEUED_SECONDS = 2.0
"""A gang's place in the queue is valid for this long; its members renew it when half of that is over."""

REST_SECONDS = 10.0
"""After its time was over, a gang cannot displace another for this long: kube-scheduler's podMaxBackoffSeconds."""

TURN_SECONDS = 15.0
TURN_MEMBER_SECONDS = 0.06
"""Added for each member. An open gang that is not committed after its turn gives way to another one of its priority.

The calls of others leave it alone after PLACING_SECONDS. Then every member comes again within podMaxBackoffSeconds.
Many members take longer: on DynamoDB 450 of them write their intents in 25 s.
"""

_NO_SHARES: Shares = MappingProxyType({})


class GangState(StrEnum):
    """The state of a gang's latest round.

    OPEN: members write their intents. PREPARING: a coordinator holds shares on one group of nodes after another; the
    intents are fixed. COMMITTED: each member has its share, and may be bound. ROLLING_BACK: holds are being released.
    ENDED: without a commit, and without holds.
    """

    OPEN = "open"
    PREPARING = "preparing"
    COMMITTED = "committed"
    ROLLING_BACK = "rolling-back"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Intent:
    """A member that waits in bind for the others.

    attempt: the id of its call, and of its entry in the ledger. until: its call ends then, in seconds since the epoch.
    shares: what the commit gave it; empty before, and for a member that requests nothing counted. topology: the value
    of the gang's topology key on the node; empty without a key.
    """

    pod: PodKey
    node: str
    attempt: str
    until: float
    demands: tuple[Demand, ...] = ()
    shares: Shares = field(default_factory=lambda: _NO_SHARES)
    topology: str = ""


@dataclass(frozen=True, slots=True)
class GangItem:
    """A gang's item.

    round: the domain's fence when the round was opened. intents: by the pod's UID; once the round is fixed, those of
    the commit. version: changes with every write. opened_at, changed_at: of the round and of its state, in seconds
    since the epoch. coordinator: the call that holds. reason: why the round ended, for the members that wait.
    topology_key: of the gang, as the member said that opened the round.
    """

    key: GangKey
    state: GangState
    round: int
    minimum: int
    priority: int
    version: int
    opened_at: float
    changed_at: float
    intents: Mapping[str, Intent] = field(default_factory=dict)
    coordinator: str = ""
    reason: str = ""
    topology_key: str = ""

    @classmethod
    def opened(cls, gang: Gang, round_: int, first: Intent, before: GangItem | None, now: float) -> GangItem:
        """Return the gang's item in a new round, with the first member's intent. before: the item that it replaces."""
        version = 1 if before is None else before.version + 1
        return cls(
            gang.key,
            GangState.OPEN,
            round_,
            gang.minimum,
            gang.priority or 0,
            version,
            opened_at=now,
            changed_at=now,
            intents={first.pod.uid: first},
            topology_key=gang.topology_key,
        )

    def intent(self, uid: str, attempt: str) -> Intent | None:
        """Return the intent of this call, if it is the member's last one."""
        found = self.intents.get(uid)
        return found if found is not None and found.attempt == attempt else None

    def is_open_in(self, round_: int) -> bool:
        """Return whether members may join this round."""
        return self.state is GangState.OPEN and self.round == round_

    def difference(self, gang: Gang) -> GangError | None:
        """Return how the waiting members' gang differs from this one, or None. Filter rejects both if it knows both;
        it may have passed them on data that were too old, or the PodGroup has changed since."""
        if self.minimum != gang.minimum:
            return GangError.SIZES_DIFFER
        return None if self.topology_key == gang.topology_key else GangError.TOPOLOGY_KEYS_DIFFER

    def waiting(self, now: float) -> Mapping[str, Intent]:
        """Return the intents of the calls that have not ended."""
        return {uid: intent for uid, intent in self.intents.items() if intent.until > now}

    def complete(self, now: float) -> Mapping[str, Intent]:
        """Return the members that a commit takes: the waiting ones in the topology domain that has the most of
        them, of equal domains the first by its value. Empty: no domain has the minimum."""
        domains: dict[str, dict[str, Intent]] = {}
        for uid, intent in self.waiting(now).items():
            domains.setdefault(intent.topology, {})[uid] = intent
        best = min(domains, key=lambda value: (-len(domains[value]), value), default="")
        found = domains.get(best, {})
        return found if len(found) >= self.minimum else {}

    def changed(self, state: GangState, now: float, **changes: object) -> GangItem:
        """Return the item after another change of its state."""
        return replace(self, state=state, changed_at=now, version=self.version + 1, **changes)  # type: ignore[arg-type]

    def joined(self, intent: Intent) -> GangItem:
        return replace(self, intents={**self.intents, intent.pod.uid: intent}, version=self.version + 1)

    def without(self, uid: str) -> GangItem:
        intents = {each: intent for each, intent in self.intents.items() if each != uid}
        return replace(self, intents=intents, version=self.version + 1)


@dataclass(frozen=True, slots=True)
class Claim:
    """A gang that wants to be open. until: when its time is over. opened_at: since when it is; 0: long ago. Both in
    seconds since the epoch. minimum: of its members."""

    key: GangKey
    priority: int
    until: float
    opened_at: float = 0.0
    minimum: int = 1

    def ends(self, other: Claim) -> float:
        """Return when the other gang may take the domain, whatever its priority, or this gang may begin anew."""
        if other.key == self.key or other.priority < self.priority:
            return self.until
        return min(self.until, self.opened_at + TURN_SECONDS + TURN_MEMBER_SECONDS * self.minimum)


@dataclass(frozen=True, slots=True)
class QueuedGang:
    """A gang whose calls wait until it can be opened. members: how many; its minimum. until: in seconds since the
    epoch."""

    members: int
    until: float


_NO_QUEUE: Mapping[GangKey, QueuedGang] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Domain:
    """The gangs of a cluster contend for its nodes, so one of them is open at a time.

    open: None if no gang is open. fence: how often another gang, or another round of one, was opened. resting: the gang
    whose time was over without a commit, until rest_until. queue: gangs that may wait in bind for the domain. It
    decides nothing else: any gang that finds the domain free may open it.
    """

    open: Claim | None = None
    fence: int = 0
    resting: GangKey | None = None
    rest_until: float = 0.0
    queue: Mapping[GangKey, QueuedGang] = field(default_factory=lambda: _NO_QUEUE)

    def holds(self, key: GangKey, round_: int) -> bool:
        return self.open is not None and self.open.key == key and self.fence == round_

    def opened_by(self, claim: Claim, now: float) -> Domain | None:
        """Return the domain with this gang open; itself if it is. None: another gang keeps it, or this one rests.

        Only a higher priority takes it from an open gang whose turn is not over. Filter plans in the same order.
        """
        current = self.open
        if current is None:
            return self._opened(claim)
        if current.ends(claim) <= now:
            rest_until = min(current.until, now) + REST_SECONDS
            if current.key == claim.key and now < rest_until:
                return None
            return replace(self._opened(claim), resting=current.key, rest_until=rest_until)
        if current.key == claim.key:
            return self
        if claim.priority <= current.priority or (self.resting == claim.key and now < self.rest_until):
            return None
        return self._opened(claim)

    def queued(self, key: GangKey, members: int, now: float) -> Domain | None:
        """Return the domain with this gang in the queue; itself if it is. None: too many wait already."""
        mine = self.queue.get(key)
        if mine is not None and mine.until - now > QUEUED_SECONDS / 2:
            return self
        others = {each: queued for each, queued in self.queue.items() if queued.until > now and each != key}
        has_room = sum(queued.members for queued in others.values()) + members <= MAX_QUEUED_MEMBERS
        if others and not (has_room and len(others) < MAX_QUEUED_GANGS):
            return None
        return replace(self, queue={**others, key: QueuedGang(members, now + QUEUED_SECONDS)})

    def closed(self) -> Domain:
        """Return the domain without an open gang."""
        return replace(self, open=None)

    def _opened(self, claim: Claim) -> Domain:
        queue = {key: queued for key, queued in self.queue.items() if key != claim.key}
        return replace(self, open=claim, fence=self.fence + 1, queue=queue)
