"""Events on pods, and the port to the API server that writes them.

An event contains names of counted resources, amounts, and constant texts. It never contains a text of the pod's owner.

Guarantees: `record` never waits, never raises, and keeps at most MAX_PENDING events. A pod or its owner causes at most
one write for each reason in REPEAT_SECONDS. All pods together cause at most BURST writes at once, and then one every
SECONDS.

Not guaranteed: that an event is written. Above the limits, during an outage and at the end of a run, events are
dropped. The log and the metrics have them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from berth.nodecache.feed.changes import Key, Object, OmissionReason
from berth.nodecache.feed.leader import Publication
from berth.scheduling.fields.reading import part
from berth.upkeep.gangs import GangEvent, GangEventType
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

MAX_NOTE = 1024
"""Maximum length of a note in bytes. The API server rejects longer notes."""


class PodEventReason(StrEnum):
    """The field `reason` of an Event.

    RESERVATION_DIVERGED: the annotations of a bound pod claim other amounts or devices than the ledger holds for it.
    REQUEST_BEYOND_LIMIT: a pod of another scheduler requests more than the limit for a pod, or an unreadable amount.
    POD_REDUCED: the pod is too large for the node cache, and is published without some of its fields. POD_OMITTED: it
    is not published at all. GANG_WAITS_FOR_MEMBERS, GANG_DOES_NOT_FIT: why the pod's gang waits. GANG_TIMED_OUT: the
    pod waited in bind for its gang, and the round ended without a commit. GANG_DEGRADED: fewer members than the minimum
    are on nodes, although the gang was committed.
    """

    RESERVATION_DIVERGED = "ReservationDiverged"
    REQUEST_BEYOND_LIMIT = "RequestBeyondLimit"
    POD_REDUCED = "PodReduced"
    POD_OMITTED = "PodOmitted"
    GANG_WAITS_FOR_MEMBERS = "GangWaitsForMembers"
    GANG_DOES_NOT_FIT = "GangDoesNotFit"
    GANG_TIMED_OUT = "GangTimedOut"
    GANG_DEGRADED = "GangDegraded"


@dataclass(frozen=True, slots=True)
class PodEvent:
    """An event on a pod. note: at most MAX_NOTE bytes of printable ASCII."""

    namespace: str
    name: str
    uid: str
    reason: PodEventReason
    note: str


class PodEventWriter(ABC):
    """The port that writes events to the API server. Methods do not retry."""

    @abstractmethod
    def write(self, event: PodEvent, name: str, at: float) -> str:
        """Create an Event of this name with one request of at most 2 s. Return the cause if the API server rejected it
        or did not answer; empty if it accepted it, or the namespace is being deleted. at: seconds since the epoch."""


class NoPodEvents(PodEventWriter):
    """Drops all events, because there is no API server."""

    def write(self, event: PodEvent, name: str, at: float) -> str:
        return ""


def reservation_event(event: ReservationEvent) -> PodEvent | None:
    """Return the event on the pod for a change of the ledger, or None: most changes do not cause an event."""
    held = ", ".join(f"{amount} {pool}" for pool, amount in sorted(event.amounts.items())) or "nothing"
    match event.type:
        case ReservationEventType.DIVERGED:
            reason = PodEventReason.RESERVATION_DIVERGED
            note = f"{event.detail}. Berth counts what it reserved on {event.node}: {held}"
        case ReservationEventType.BEYOND_LIMIT:
            reason = PodEventReason.REQUEST_BEYOND_LIMIT
            note = f"{event.detail}. Berth charges on {event.node}: {held}"
        case _:
            return None
    namespace, _, name = event.pod.partition("/")
    return PodEvent(namespace, name, event.uid, reason, bounded(note))


def gang_events(event: GangEvent) -> Iterator[PodEvent]:
    """Yield the events on the pods of a gang. Most changes of a gang do not cause events."""
    match event.type:
        case GangEventType.TIMED_OUT:
            reason = PodEventReason.GANG_TIMED_OUT
            note = "the placement of the gang took too long: nobody of it was bound. The scheduler tries again"
        case GangEventType.DEGRADED:
            reason = PodEventReason.GANG_DEGRADED
            note = f"the gang was placed, and only {event.members} of {event.minimum} members are on nodes"
        case _:
            return
    for pod in event.pods:
        yield PodEvent(pod.namespace, pod.name, pod.uid, reason, bounded(note))


def omission_event(key: Key, pod: Object, reason: OmissionReason) -> PodEvent | None:
    """Return the event on a pod that is not published completely; None if it is not a pod, or lacks a UID."""
    resource, full_name = key
    namespace, _, name = full_name.rpartition("/")
    uid = uid_of(pod)
    if resource != "pods" or not namespace or not uid:
        return None
    if reason is OmissionReason.REDUCED:
        note = "the pod is too large for Berth's node cache: it lacks labels or placement rules there"
        return PodEvent(namespace, name, uid, PodEventReason.POD_REDUCED, note)
    note = f"Berth's node cache lacks the pod: {reason}"
    return PodEvent(namespace, name, uid, PodEventReason.POD_OMITTED, bounded(note))


def uid_of(pod: Object) -> str:
    """Return the UID, or an empty string if the object does not have one."""
    uid = part(pod, "metadata").get("uid")
    return uid if isinstance(uid, str) else ""


def bounded(text: str) -> str:
    """Return the text with at most MAX_NOTE characters, each of printable ASCII."""
    found = "".join(each if " " <= each <= "~" else "?" for each in text[: MAX_NOTE + 1])
    return found if len(found) <= MAX_NOTE else found[: MAX_NOTE - 3] + "..."


class OmittedPods:
    """Tracks pods that are not published completely, in one leadership and one thread."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, OmissionReason]] = {}
        """The UID and the reason, by pod."""

    def new(self, publication: Publication) -> Iterator[PodEvent]:
        """Yield the events for pods whose omission, or its reason, is new in this publication."""
        if not publication.omissions and not self._known:
            return
        before, self._known = self._known, {}
        for key, reason in publication.omissions.items():
            pod = publication.objects.get(key)
            if pod is None:
                continue
            known = self._known[key] = uid_of(pod), reason
            if before.get(key) != known:
                event = omission_event(key, pod, reason)
                if event is not None:
                    yield event


MAX_PENDING = 1_000
MAX_WRITTEN = 4_096
"""The maximum number of written events that are remembered, as in client-go's recorder."""

REPEAT_SECONDS = 360.0
"""Seconds in which the same event of a pod is not written again; client-go increments its count for as long."""

BURST, SECONDS = 100, 0.5

PAUSE_SECONDS = 60.0
"""Seconds without writes after the API server rejected a write or did not answer."""

CLOSE_SECONDS = 1.0
"""The longest time for pending writes at the end of a run, in seconds; part of the run's margin."""

MAX_NAME = 253
"""Maximum length of an Event's name."""

_Key = tuple[str, str]
"""UID and reason. The note is not part of it: a pod's owner can cause many different notes."""


class TokenBuckets:
    """Gives each key a burst, then one token per interval. For one thread. Times are in monotonic seconds."""

    def __init__(self, burst: int) -> None:
        self._burst = burst
        self._buckets: dict[str, tuple[float, float, float]] = {}
        """The tokens, the time at which the key had them, and the refill seconds, by key."""

    def spend(self, key: str, now: float, refill_seconds: float) -> None:
        """Take a token, or the fraction of a token that is left."""
        self._buckets[key] = max(0.0, self.tokens(key, now) - 1), now, refill_seconds

    def forget_full(self, now: float) -> None:
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if self.tokens(key, now) < self._burst}

    def tokens(self, key: str, now: float) -> float:
        tokens, at, refill_seconds = self._buckets.get(key, (float(self._burst), now, 1.0))
        return min(self._burst, tokens + (now - at) / refill_seconds)


class Recorder:
    """Writes events on pods in one run of the watcher. Thread-safe."""

    def __init__(
        self,
        writer: PodEventWriter,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        new_id: Callable[[], str],
        warn: Callable[[str], None],
    ) -> None:
        """Create the recorder. wall: returns the seconds since the epoch. warn: called with the cause of failed writes,
        at most once in PAUSE_SECONDS."""
        self._writer = writer
        self._wall = wall
        self._monotonic = monotonic
        self._new_id = new_id
        self._warn = warn
        self._lock = Lock()
        self._pending: OrderedDict[_Key, PodEvent] = OrderedDict()
        """The newest event of each pod and reason."""
        self._is_writing = False
        self._is_closed = False
        self._close_at = math.inf
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pod-events")
        # Used only by the writing thread.
        self._written_at: OrderedDict[_Key, float] = OrderedDict()
        self._tokens = TokenBuckets(BURST)
        self._resume_at = monotonic()

    def record(self, event: PodEvent) -> None:
        key = event.uid, event.reason.value
        with self._lock:
            if self._is_closed or (key not in self._pending and len(self._pending) >= MAX_PENDING):
                return
            self._pending[key] = event
            if not self._is_writing:
                self._is_writing = True
                self._thread.submit(self._write_pending)

    def close(self) -> None:
        """Write pending events, for at most CLOSE_SECONDS and the running request. Drop the remaining events."""
        with self._lock:
            self._is_closed = True
            self._close_at = self._monotonic() + CLOSE_SECONDS
        self._thread.shutdown()

    def _write_pending(self) -> None:
        while True:
            with self._lock:
                if not self._pending or self._monotonic() >= self._close_at:
                    self._is_writing = False
                    return
                key, event = self._pending.popitem(last=False)
            self._write(key, event)

    def _write(self, key: _Key, event: PodEvent) -> None:
        now = self._monotonic()
        is_repeated = now - self._written_at.get(key, -math.inf) < REPEAT_SECONDS
        if is_repeated or now < self._resume_at or self._tokens.tokens("", now) < 1:
            return
        self._tokens.spend("", now, SECONDS)
        suffix = f".{self._new_id()}"
        name = event.name[: MAX_NAME - len(suffix)].rstrip("-.") + suffix
        cause = self._writer.write(event, name, self._wall())
        if cause:
            self._resume_at = now + PAUSE_SECONDS
            self._warn(f"no events are written on pods for {PAUSE_SECONDS:g} s: {cause}")
            return
        self._written_at[key] = now
        self._written_at.move_to_end(key)
        if len(self._written_at) > MAX_WRITTEN:
            self._written_at.popitem(last=False)
