"""Events on pods, and the port to the API server that writes them.

An event contains names of counted resources, amounts, and constant texts. Nothing in it is a text of the pod's owner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.nodecache.feed.changes import Key, Object, OmissionReason
from berth.nodecache.feed.leader import Publication
from berth.upkeep.gangs import GangEvent, GangEventType
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

MAX_NOTE = 1024
"""Bytes. The API server refuses a longer note."""


class PodEventReason(StrEnum):
    """The field `reason` of an Event.

    RESERVATION_DIVERGED: the annotations of a bound pod claim other amounts or devices than the ledger holds for it.
    REQUEST_BEYOND_LIMIT: a pod that others bound requests more than one pod is charged, or an amount that cannot be
    read. POD_REDUCED: the pod is too large for the node cache, and is published without some of its fields.
    POD_OMITTED: it is not published at all. GANG_WAITS_FOR_MEMBERS, GANG_DOES_NOT_FIT: why the pod's gang waits.
    GANG_TIMED_OUT: the pod waited in bind for its gang, and the round ended without a commit. GANG_DEGRADED: fewer
    members than the minimum are on nodes, although the gang was committed.
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
    """note: at most MAX_NOTE bytes of printable ASCII."""

    namespace: str
    name: str
    uid: str
    reason: PodEventReason
    note: str


@dataclass(frozen=True, slots=True)
class Series:
    """The Event object that an event is written to. count: how often it occurred; 1 creates the object.

    name: of the object. last_at: seconds since the epoch.
    """

    name: str
    count: int
    last_at: float


class WriteOutcome(StrEnum):
    """GONE: the namespace, or the Event object of the series, does not exist any more."""

    WRITTEN = "written"
    GONE = "gone"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """cause: the API server's words, where nothing was written."""

    outcome: WriteOutcome
    cause: str = ""


class PodEventWriter(ABC):
    """Writes events to the API server. No method retries."""

    @abstractmethod
    def write(self, event: PodEvent, series: Series) -> WriteResult:
        """Create the Event object of the series, or update its count and time. One request, of at most 2 s."""


class NoPodEvents(PodEventWriter):
    """Where there is no API server."""

    def write(self, event: PodEvent, series: Series) -> WriteResult:
        return WriteResult(WriteOutcome.WRITTEN)


def reservation_event(event: ReservationEvent) -> PodEvent | None:
    """The event on the pod for a change of the ledger; None for most changes."""
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
    """The events on the pods of a gang; none for most changes."""
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
    """The event on a pod that is not published, or not as a whole. None where the object is no pod of the API."""
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
    """Empty where there is none."""
    metadata = pod.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    return uid if isinstance(uid, str) else ""


def bounded(text: str) -> str:
    """At most MAX_NOTE characters, each of printable ASCII."""
    found = "".join(each if " " <= each <= "~" else "?" for each in text[: MAX_NOTE + 1])
    return found if len(found) <= MAX_NOTE else found[: MAX_NOTE - 3] + "..."


class OmittedPods:
    """For one leadership and one thread."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[str, OmissionReason]] = {}
        """The UID and the reason."""

    def new(self, publication: Publication) -> Iterator[PodEvent]:
        """The events for pods that this publication lacks, and the one before did not."""
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
