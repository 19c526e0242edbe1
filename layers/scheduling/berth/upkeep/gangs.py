"""The watcher's work on gangs: it ends rounds that calls did not finish, and deletes obsolete items.

Members that are retried finish most rounds themselves. GangWatch ends the rounds of members that are never retried.

The item of a committed gang is needed for EXPIRY_SECONDS. By then a member is on a node, which proves the commit to
filter and bind. Otherwise the shares expire, and the whole gang has to be placed again. The item is deleted in both
cases, so filter does not read the items of running gangs.

Guarantees: each write that ends a round, deletes an item or closes a domain requires the version of the item that was
read. So concurrent and late watchers are safe. A hold is not released before its round has ended. The item of a gang
with a member on a node is deleted only when the node cache shows the member there. EXPIRY_SECONDS and a few checks
after the last call has died, the holds of a gang are released unless it is committed, and it does not block other
gangs.

Not guaranteed: an exact time. Age decides when GangWatch checks a gang, but does not prove anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock

from berth.ledger.gangs.commit import GangCommit
from berth.ledger.gangs.item import GangItem, GangState
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.entry import OpenReservation
from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import Publication
from berth.pods import FoundPod, PodNotFound, ReservedPods, Unanswered
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.members import WasExempt, lives
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import is_member

POLL_SECONDS = 2.0

EXPIRY_SECONDS = 30.0
"""Age in seconds at which a round is checked: longer than any bind takes, as for reservations."""

KEPT_SECONDS = 600.0
"""Seconds for which an ended round is shown to users."""

LIVENESS_SECONDS = 60.0
"""Seconds between two reads of one commit's members at the API server."""

TIMED_OUT = "gang waits for members: its placement took too long"

MAX_PODS = 50
"""Maximum number of pods of a gang that an event names."""


class GangEventType(StrEnum):
    """The type of an event. The values are stored as a metric dimension.

    OPENED: a round began. COMMITTED: the gang was committed. TIMED_OUT: the round ended without a commit, or never
    began. DEGRADED: EXPIRY_SECONDS or more after the commit, fewer members than the minimum are on nodes. FORGOTTEN:
    EXPIRY_SECONDS or more after the commit, no member is alive.
    """

    OPENED = "opened"
    COMMITTED = "committed"
    TIMED_OUT = "timed-out"
    DEGRADED = "degraded"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class GangEvent:
    """A change of a gang.

    members: the number of members for COMMITTED, of members on nodes for DEGRADED; otherwise 0. minimum: set for
    DEGRADED. seconds: from the start of the round to the commit, for COMMITTED. pods: the affected members for
    TIMED_OUT and DEGRADED, at most MAX_PODS.
    """

    type: GangEventType
    key: GangKey
    members: int = 0
    seconds: float = 0.0
    minimum: int = 0
    pods: tuple[PodKey, ...] = ()

    def __str__(self) -> str:
        match self.type:
            case GangEventType.COMMITTED:
                return f"{self.key}: {self.type} with {self.members} members after {self.seconds:.1f} s"
            case GangEventType.DEGRADED:
                return f"{self.key}: {self.type}, {self.members} members are on nodes"
            case _:
                return f"{self.key}: {self.type}"


Report = Callable[[GangEvent], None]

OnNodes = Callable[[GangKey], Collection[str]]
"""Returns the UIDs of all members of the gang on nodes, as in the node cache, including members outside the commit."""


class GangWatch:
    """Watches gangs in one thread while this process leads. Methods may raise TableUnavailable, and may be repeated."""

    def __init__(
        self,
        table: GangTable,
        pods: ReservedPods,
        on_nodes: OnNodes,
        wall: Callable[[], float],
        report: Report,
        on_closed: Callable[[], None],
    ) -> None:
        """Create the watch. wall: returns the seconds since the epoch. on_closed: called when a round has ended or is
        committed, so that another gang may be placed."""
        self._table = table
        self._pods = pods
        self._on_nodes = on_nodes
        self._wall = wall
        self._report = report
        self._on_closed = on_closed
        self._commit = GangCommit(table, wall)
        self._seen: dict[GangKey, tuple[int, GangState]] = {}
        self._has_looked = False
        self._checked: dict[GangKey, tuple[int, float]] = {}

    def work(self) -> float:
        """Check all gangs once. Return the seconds until the next check."""
        found = self._table.gangs()
        for item in found:
            self._report_change(item)
            self._act(item, self._wall() - item.changed_at)
        self._close_domain()
        keys = {item.key for item in found}
        self._seen = {key: state for key, state in self._seen.items() if key in keys}
        self._checked = {key: checked for key, checked in self._checked.items() if key in keys}
        self._has_looked = True
        return POLL_SECONDS

    def expiry_check(self) -> Callable[[OpenReservation], bool]:
        """Return a check whether an old reservation may be released. If it belongs to a round that is PREPARING or
        ROLLING_BACK, the check first tries to end the round, and returns False if that fails.

        Use the check only for reservations that were read before this call, because gangs are read once. An intent is
        written before its reservation is old.
        """
        unfinished = {
            (uid, intent.attempt): item
            for item in self._table.gangs()
            if item.state in (GangState.PREPARING, GangState.ROLLING_BACK)
            for uid, intent in item.intents.items()
        }
        ended: dict[GangKey, bool] = {}

        def may_expire(reservation: OpenReservation) -> bool:
            item = unfinished.get((reservation.pod.uid, reservation.attempt))
            if item is None:
                return True
            if item.key not in ended:
                ended[item.key] = self._end_holds(item)
            return ended[item.key]

        return may_expire

    def _end_holds(self, item: GangItem) -> bool:
        if item.state is GangState.PREPARING:
            return self._commit.abort(item, TIMED_OUT)
        return self._commit.roll_back(item)

    def _report_change(self, item: GangItem) -> None:
        before, now = self._seen.get(item.key), (item.round, item.state)
        self._seen[item.key] = now
        if before == now:
            return
        # The previous leader has reported the rounds that exist at this leader's first look. A round may already be
        # over when it is seen for the first time.
        if self._has_looked and (before is None or before[0] != item.round):
            self._report(GangEvent(GangEventType.OPENED, item.key))
        if item.state not in (GangState.COMMITTED, GangState.ENDED):
            return
        if item.state is GangState.COMMITTED and self._has_looked:
            seconds = item.changed_at - item.opened_at
            self._report(GangEvent(GangEventType.COMMITTED, item.key, len(item.intents), seconds))
        self._on_closed()

    def _act(self, item: GangItem, age: float) -> None:
        match item.state:
            case GangState.OPEN if not item.waiting(self._wall()) and age >= EXPIRY_SECONDS:
                self._end(item)
            case GangState.PREPARING if age >= EXPIRY_SECONDS:
                self._end(item)
            case GangState.ROLLING_BACK if age >= POLL_SECONDS:
                if self._commit.roll_back(item):
                    self._on_closed()
            case GangState.ENDED if age >= KEPT_SECONDS:
                self._table.delete(item)
            case GangState.ENDED if age >= EXPIRY_SECONDS and item.intents:
                # Keep the rest of the item: it is shown to users, and filter reads it.
                self._table.put(replace(item, intents={}, version=item.version + 1), item)
            case GangState.COMMITTED if age >= EXPIRY_SECONDS:
                self._follow(item)
            case _:
                pass

    def _end(self, item: GangItem) -> None:
        if self._commit.abort(item, TIMED_OUT):
            pods = tuple(intent.pod for intent in item.intents.values())[:MAX_PODS]
            self._report(GangEvent(GangEventType.TIMED_OUT, item.key, pods=pods))
            self._on_closed()

    def _close_domain(self) -> None:
        """Close the domain if the call that opened it died before it wrote the gang's item or closed the domain."""
        domain = self._table.domain()
        claim = domain.open
        if claim is None or self._wall() - claim.opened_at < EXPIRY_SECONDS:
            return
        item = self._table.gang(claim.key)
        has_round = item is not None and item.is_open_in(domain.fence)
        if not has_round and self._table.put_domain(domain.closed(), domain):
            self._report(GangEvent(GangEventType.TIMED_OUT, claim.key))
            self._on_closed()

    def _follow(self, item: GangItem) -> None:
        """Check whether enough members are on nodes, once EXPIRY_SECONDS have passed since the commit."""
        published = set(self._on_nodes(item.key))
        if len(published) >= item.minimum:
            self._table.delete(item)
            return
        round_, at = self._checked.get(item.key, (0, 0.0))
        if round_ == item.round and self._wall() - at < LIVENESS_SECONDS:
            return
        found = self._members(item)
        if found is None:
            return
        living, placed = found
        self._checked[item.key] = item.round, self._wall()
        on_nodes = published | {pod.uid for pod in placed}
        if not living and not published:
            if self._table.delete(item):
                self._report(GangEvent(GangEventType.FORGOTTEN, item.key))
            return
        if len(on_nodes) < item.minimum and round_ != item.round:
            pods = tuple(living[:MAX_PODS])
            self._report(GangEvent(GangEventType.DEGRADED, item.key, len(on_nodes), minimum=item.minimum, pods=pods))
        if published or not placed:
            self._table.delete(item)

    def _members(self, item: GangItem) -> tuple[Sequence[PodKey], Sequence[PodKey]] | None:
        """Return the commit's living members, and its members that are on nodes or have ended there. None: the API
        server did not answer for all members."""
        living, on_nodes = list[PodKey](), list[PodKey]()
        for intent in item.intents.values():
            match self._pods.find(intent.pod):
                case Unanswered():
                    return None
                case FoundPod(uid=uid, deleting=False) as found if uid == intent.pod.uid:
                    if not found.finished:
                        living.append(intent.pod)
                    if found.node or found.finished:
                        on_nodes.append(intent.pod)
                case FoundPod() | PodNotFound():
                    pass
        return living, on_nodes


NOBODY: frozenset[str] = frozenset()


class PublishedMembers:
    """Tracks the members on nodes while this process leads. The publishing thread calls `published`; any thread may
    call `on_nodes`."""

    def __init__(self, was_exempt: WasExempt) -> None:
        """Create the index. was_exempt: returns whether a pod on a node was bound without its gang."""
        self._was_exempt = was_exempt
        self._lock = Lock()
        self._is_complete = False
        self._by_pod: dict[str, tuple[GangKey, str]] = {}
        self._by_gang: dict[GangKey, frozenset[str]] = {}

    def published(self, publication: Publication) -> None:
        """Apply the publication. Publications before the leader's first complete one are ignored."""
        if self._is_complete:
            self._learn(publication.changes)
        elif publication.is_complete:
            self._is_complete = True
            self._learn(Change(*key, obj) for key, obj in publication.objects.items())

    def on_nodes(self, key: GangKey) -> frozenset[str]:
        """Return the UIDs of the gang's members on nodes, without those that are being deleted or have ended."""
        with self._lock:
            return self._by_gang.get(key, NOBODY)

    def _learn(self, changes: Iterable[Change]) -> None:
        for resource, key, obj in changes:
            if resource == "pods":
                placed = None if obj is None or not is_member(obj) else self._placed(obj)
                with self._lock:
                    self._replace(key, placed)

    def _replace(self, pod: str, placed: tuple[GangKey, str] | None) -> None:
        before = self._by_pod.pop(pod, None)
        if before is not None:
            gang, uid = before
            left = self._by_gang[gang] - {uid}
            if left:
                self._by_gang[gang] = left
            else:
                del self._by_gang[gang]
        if placed is not None:
            gang, uid = self._by_pod[pod] = placed
            self._by_gang[gang] = self._by_gang.get(gang, NOBODY) | {uid}

    def _placed(self, obj: Object) -> tuple[GangKey, str] | None:
        """Return the gang and the UID of a member on a node; None for any other pod, or if the member is not alive."""
        pod = PodReader().read(obj)
        if isinstance(pod, UnreadableObject) or not pod.node_name or not lives(pod):
            return None
        return None if self._was_exempt(pod) else (GangKey(pod.namespace, gang_names(pod)[0]), pod.uid)
