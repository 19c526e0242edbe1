"""The items of gangs in the table: one for each gang, and the domain's item, which contains the open gang.

The fence of a gang is its item's version; the fence of the domain is its count of openings. A leader's epoch is not a
fence: binds write these items, too, and a late watcher can only change the version that it has read, like any caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.gangs.gang import Gang, GangError, GangKey
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.managed_resources.pools import Shares, limits_namespace, resource_of
from berth.scheduling.objects.pod import PodKey

MAX_QUEUED_MEMBERS = 200
"""Maximum number of queued members of all gangs that are not open. The limit keeps execution environments or threads
free for the open gang. A single gang may queue even if its minimum is larger. At most `minimum` members of each gang
wait."""

MAX_QUEUED_GANGS = 16
"""Maximum number of gangs in the queue, which is in the domain's item that every waiting member reads."""

QUEUED_SECONDS = 2.0
"""A gang's place in the queue is valid for this many seconds; its members renew it after half that time."""

REST_SECONDS = 10.0
"""Seconds in which a gang whose time ran out cannot displace another: kube-scheduler's podMaxBackoffSeconds."""

TURN_SECONDS = 15.0
TURN_MEMBER_SECONDS = 0.06
"""Seconds that each member adds to a gang's turn. After its turn, an open gang can be replaced by another gang of the
same priority.

TURN_SECONDS has room for PLACING_SECONDS, after which calls of other gangs stop waiting, and for podMaxBackoffSeconds,
within which each member is retried. On DynamoDB 450 members write their intents in 25 s.
"""


class GangState(StrEnum):
    """The state of a gang's latest round.

    OPEN: members write their intents. PREPARING: a coordinator holds shares on one group of nodes after another; the
    intents are fixed. COMMITTED: each member has its share, and may be bound. ROLLING_BACK: holds are being released.
    ENDED: the round ended without a commit, and there are no holds.
    """

    OPEN = "open"
    PREPARING = "preparing"
    COMMITTED = "committed"
    ROLLING_BACK = "rolling-back"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Intent:
    """A member that waits in bind for the others.

    attempt: the id of its call, and of its entries in the ledger. until: the end of its call, in seconds since the
    epoch. floating: the shares of floating pools that it needs. shares: the shares from the commit, including the
    floating shares; empty before, and for a member without counted resources. topology: the value of the gang's
    topology key on the node; empty without a key.
    """

    pod: PodKey
    node: str
    attempt: str
    until: float
    demands: tuple[Demand, ...] = ()
    floating: Shares = field(default_factory=dict)
    shares: Shares = field(default_factory=dict)
    topology: str = ""

    @property
    def owners(self) -> Iterator[str]:
        """Yield the owners whose ledgers count the member: the node, floating pools, or both."""
        elsewhere = {resource_of(pool) for pool in self.floating if not limits_namespace(pool)}
        if any(demand.resource not in elsewhere for demand in self.demands):
            yield self.node
        yield from self.floating


@dataclass(frozen=True, slots=True)
class GangItem:
    """A gang's item.

    round: the domain's fence when the round was opened. intents: the members' intents by UID; in PREPARING and
    COMMITTED, those of the commit. version: changes with every write. opened_at, changed_at: times of the round and of
    its state, in seconds since the epoch. coordinator: the call that writes holds. reason: why the round ended, for
    waiting members. topology_key: the gang's topology key when the round was opened.
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
        """Return the intent of this call, if the member has not written a later one."""
        found = self.intents.get(uid)
        return found if found is not None and found.attempt == attempt else None

    def is_open_in(self, round_: int) -> bool:
        """Return whether members may join this round."""
        return self.state is GangState.OPEN and self.round == round_

    def difference(self, gang: Gang) -> GangError | None:
        """Return the difference between this gang and the gang of the waiting members, if any. Filter rejects members
        that differ, but it may have used stale data, or the PodGroup has changed since."""
        if self.minimum != gang.minimum:
            return GangError.SIZES_DIFFER
        return None if self.topology_key == gang.topology_key else GangError.TOPOLOGY_KEYS_DIFFER

    def waiting(self, now: float) -> Mapping[str, Intent]:
        """Return the intents of the calls that have not ended."""
        return {uid: intent for uid, intent in self.intents.items() if intent.until > now}

    def complete(self, now: float) -> Mapping[str, Intent]:
        """Return the members for a commit: the waiting members of the topology domain that has most of them; of equal
        domains, the one that sorts first. Empty if every domain has fewer than the minimum."""
        domains: dict[str, dict[str, Intent]] = {}
        for uid, intent in self.waiting(now).items():
            domains.setdefault(intent.topology, {})[uid] = intent
        best = min(domains, key=lambda value: (-len(domains[value]), value), default="")
        found = domains.get(best, {})
        return found if len(found) >= self.minimum else {}

    def changed(self, state: GangState, now: float, **changes: object) -> GangItem:
        """Return the item in this state, with the next version and the time of the change."""
        return replace(self, state=state, changed_at=now, version=self.version + 1, **changes)  # type: ignore[arg-type]

    def joined(self, intent: Intent) -> GangItem:
        return replace(self, intents={**self.intents, intent.pod.uid: intent}, version=self.version + 1)

    def without(self, uid: str) -> GangItem:
        intents = {each: intent for each, intent in self.intents.items() if each != uid}
        return replace(self, intents=intents, version=self.version + 1)


@dataclass(frozen=True, slots=True)
class Claim:
    """A gang that is open or is to be opened. until: the end of the time for its placement. opened_at: when it was
    opened; 0 counts as long ago. Both are in seconds since the epoch. minimum: its minimum number of members."""

    key: GangKey
    priority: int
    until: float
    opened_at: float = 0.0
    minimum: int = 1

    def ends(self, other: Claim) -> float:
        """Return when the claim ends: at `until` if `other` has the same key or a lower priority, else after a turn."""
        if other.key == self.key or other.priority < self.priority:
            return self.until
        return min(self.until, self.opened_at + TURN_SECONDS + TURN_MEMBER_SECONDS * self.minimum)


@dataclass(frozen=True, slots=True)
class QueuedGang:
    """A gang whose calls wait until the gang can be opened. members: the gang's minimum. until: when its place in the
    queue expires, in seconds since the epoch."""

    members: int
    until: float


@dataclass(frozen=True, slots=True)
class Domain:
    """The contention domain: gangs compete for the cluster's nodes, so only one gang is open at a time.

    open: the open gang, or None. fence: the number of rounds opened so far, of all gangs. resting: a gang whose time or
    turn ended without a commit; it is in its cool-down until rest_until. queue: gangs that may wait in bind for the
    domain. The queue does not determine the order: any gang that finds the domain free may open it.
    """

    open: Claim | None = None
    fence: int = 0
    resting: GangKey | None = None
    rest_until: float = 0.0
    queue: Mapping[GangKey, QueuedGang] = field(default_factory=dict)

    def holds(self, key: GangKey, round_: int) -> bool:
        return self.open is not None and self.open.key == key and self.fence == round_

    def opened_by(self, claim: Claim, now: float) -> Domain | None:
        """Return the domain with this gang open; unchanged if the gang is open already. None if another gang is
        open or this gang is in its cool-down.

        Only a gang of higher priority displaces a gang whose turn is not over. Filter plans in the same order.
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
        """Return the domain with this gang in the queue; unchanged if it is queued already. None: the queue is full."""
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
