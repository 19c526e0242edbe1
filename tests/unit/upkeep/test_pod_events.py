"""Events on pods: their reasons and notes, the pods that get an event, and the rate limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from threading import Event, current_thread, main_thread

import pytest

from berth.nodecache.feed.changes import Key, Object, OmissionReason
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.upkeep.pod_events import (
    BURST,
    CLOSE_SECONDS,
    MAX_NAME,
    MAX_NOTE,
    MAX_PENDING,
    PAUSE_SECONDS,
    REPEAT_SECONDS,
    SECONDS,
    OmittedPods,
    PodEvent,
    PodEventReason,
    Recorder,
    bounded,
    omission_event,
    reservation_event,
)
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType
from tests.fakes.clock import HandDrivenClock
from tests.fakes.pod_events import RecordingPodEvents

SLOT = "example.com/slot"


def test_event_names_claim_and_reservation_of_a_diverged_pod() -> None:
    claim = f"the pod now claims {SLOT}#200 6"
    event = ReservationEvent(ReservationEventType.DIVERGED, "node-a", "ml/a", {f"{SLOT}#0": 6}, claim, "uid-a")
    note = f"{claim}. Berth counts what it reserved on node-a: 6 {SLOT}#0"
    assert reservation_event(event) == PodEvent("ml", "a", "uid-a", PodEventReason.RESERVATION_DIVERGED, note)


def test_event_names_the_charge_of_an_oversized_pod() -> None:
    detail = f"the pod requests more than a pod is charged: {SLOT} 8"
    event = ReservationEvent(ReservationEventType.BEYOND_LIMIT, "node-a", "ml/a", {SLOT: 8}, detail, "uid-a")
    note = f"{detail}. Berth charges on node-a: 8 {SLOT}"
    assert reservation_event(event) == PodEvent("ml", "a", "uid-a", PodEventReason.REQUEST_BEYOND_LIMIT, note)


@pytest.mark.parametrize(
    "event_type", sorted(set(ReservationEventType) - {ReservationEventType.DIVERGED, ReservationEventType.BEYOND_LIMIT})
)
def test_does_not_create_events_for_other_ledger_changes(event_type: ReservationEventType) -> None:
    assert reservation_event(ReservationEvent(event_type, "node-a", "ml/a", {SLOT: 8})) is None


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (OmissionReason.REDUCED, PodEventReason.POD_REDUCED),
        (OmissionReason.TOO_LARGE, PodEventReason.POD_OMITTED),
        (OmissionReason.NOT_JSON, PodEventReason.POD_OMITTED),
    ],
)
def test_event_reports_a_pod_missing_from_the_cache(cause: OmissionReason, reason: PodEventReason) -> None:
    event = omission_event(("pods", "ml/a"), {"metadata": {"uid": "uid-a"}}, cause)
    assert event is not None
    assert (event.namespace, event.name, event.uid, event.reason) == ("ml", "a", "uid-a", reason)


@pytest.mark.parametrize(
    ("key", "pod"),
    [
        pytest.param(("nodes", "ml/a"), {"metadata": {"uid": "uid-a"}}, id="not a pod"),
        pytest.param(("pods", "a"), {"metadata": {"uid": "uid-a"}}, id="no namespace"),
        pytest.param(("pods", "ml/a"), {"metadata": {"uid": 7}}, id="no UID"),
        pytest.param(("pods", "ml/a"), {}, id="no metadata"),
    ],
)
def test_does_not_create_an_event_for_an_object_that_is_not_an_api_pod(
    key: tuple[str, str], pod: dict[str, object]
) -> None:
    assert omission_event(key, pod, OmissionReason.REDUCED) is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param("a" * MAX_NOTE, "a" * MAX_NOTE, id="maximum length"),
        pytest.param("a" * 10**6, "a" * (MAX_NOTE - 3) + "...", id="above the maximum length"),
        pytest.param("a\nb\x1b[31m\u202ec", "a?b?[31m?c", id="characters that change what a terminal shows"),
    ],
)
def test_limits_length_of_the_note_and_replaces_unprintable_characters(text: str, note: str) -> None:
    assert bounded(text) == note


# One event for each pod that is not published completely, and another one when its UID or the reason changes.

KEY = ("pods", "ml/a")


def publication(omissions: Mapping[Key, OmissionReason], uid: str = "uid-a") -> Publication:
    objects: Mapping[Key, Object] = {KEY: {"metadata": {"uid": uid}}, ("nodes", "n"): {"metadata": {"name": "n"}}}
    return Publication(1, (), objects, True, Observation("cluster", {}), omissions)


def reasons(omitted: OmittedPods, omissions: Mapping[Key, OmissionReason], uid: str = "uid-a") -> list[str]:
    return [event.reason for event in omitted.new(publication(omissions, uid))]


def test_reports_pod_once_until_it_changes() -> None:
    omitted = OmittedPods()
    reduced = {KEY: OmissionReason.REDUCED}
    assert reasons(omitted, {}) == []
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, reduced) == []
    assert reasons(omitted, {KEY: OmissionReason.TOO_LARGE}) == [PodEventReason.POD_OMITTED]
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, reduced, "uid-of-another-pod") == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, {}) == []
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]


def test_does_not_report_nodes_or_deleted_pods() -> None:
    omissions = {("nodes", "n"): OmissionReason.TOO_LARGE, ("pods", "ml/gone"): OmissionReason.TOO_LARGE}
    assert reasons(OmittedPods(), omissions) == []


# Events on pods are rate-limited, and the caller neither waits nor fails.

DIVERGED = PodEvent("ml", "a", "uid-a", PodEventReason.RESERVATION_DIVERGED, "note")


def of_pod(name: str) -> PodEvent:
    return PodEvent("ml", name, f"uid-{name}", PodEventReason.POD_REDUCED, "note")


class Recording:
    """A recorder, and the events that it wrote. Each `record` waits until the thread is idle."""

    def __init__(self) -> None:
        self.clock = HandDrivenClock()
        self.writer = RecordingPodEvents()
        self.warnings: list[str] = []
        ids = count(1)
        self.recorder = Recorder(self.writer, self.clock, self.clock, lambda: f"id{next(ids)}", self.warnings.append)

    def record(self, event: PodEvent) -> None:
        self.recorder.record(event)
        self.recorder._thread.submit(lambda: None).result(10)

    @property
    def names(self) -> list[str]:
        """Return the names of the created Event objects."""
        return [name for _, name in self.writer.written]


@pytest.fixture
def recording() -> Iterator[Recording]:
    found = Recording()
    yield found
    found.recorder.close()


def test_same_reason_of_a_pod_is_written_once_in_six_minutes(recording: Recording) -> None:
    for _ in range(3):
        recording.record(DIVERGED)
        recording.clock.advance(REPEAT_SECONDS / 3)
    recording.record(of_pod("a"))
    assert [event.reason for event, _ in recording.writer.written] == [DIVERGED.reason, PodEventReason.POD_REDUCED]
    recording.record(DIVERGED)
    assert recording.names == ["a.id1", "a.id2", "a.id3"]


def test_shortens_a_long_pod_name_in_the_name_of_the_event(recording: Recording) -> None:
    recording.record(of_pod("a" * 246 + "-.-" + "a" * 4))
    [name] = recording.names
    assert name == "a" * 246 + ".id1"
    assert len(name) <= MAX_NAME


def test_limits_writes_for_all_pods_together(recording: Recording) -> None:
    for number in range(2 * BURST):
        recording.record(of_pod(f"pod-{number}"))
    assert recording.writer.calls == BURST
    recording.clock.advance(2 * SECONDS)
    for number in range(2 * BURST, 3 * BURST):
        recording.record(of_pod(f"pod-{number}"))
    assert recording.writer.calls == BURST + 2


def test_pauses_and_warns_once_if_the_api_server_refuses(recording: Recording) -> None:
    recording.writer.causes = ["not allowed"] * 2
    for _ in range(5):
        recording.record(DIVERGED)
    assert recording.writer.calls == 1
    assert recording.warnings == ["no events are written on pods for 60 s: not allowed"]
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    recording.clock.advance(PAUSE_SECONDS)
    recording.record(DIVERGED)
    assert recording.names == ["a.id3"]


class SlowPodEvents(RecordingPodEvents):
    """Responds once `let` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.let = Event(), Event()
        self.then: Callable[[], None] = lambda: None

    def write(self, event: PodEvent, name: str, at: float) -> str:
        self.asked.set()
        assert self.let.wait(10)
        self.then()
        return super().write(event, name, at)


def test_returns_at_once_while_the_api_server_is_slow() -> None:
    slow, recording = SlowPodEvents(), Recording()
    recorder = Recorder(slow, recording.clock, recording.clock, lambda: "id", recording.warnings.append)
    recorder.record(DIVERGED)
    assert slow.asked.wait(10)
    for _ in range(5):
        recorder.record(DIVERGED)
    for number in range(2 * MAX_PENDING):
        recorder.record(of_pod(f"pod-{number}"))
    assert len(recorder._pending) == MAX_PENDING
    slow.let.set()
    recorder.close()
    assert [event for event, _ in slow.written].count(DIVERGED) == 1


def test_drops_pending_events_if_the_run_ends_during_an_outage() -> None:
    slow, recording = SlowPodEvents(), Recording()
    slow.then = lambda: recording.clock.advance(CLOSE_SECONDS)

    def monotonic() -> float:
        now = recording.clock()
        if current_thread() is main_thread():
            slow.let.set()  # no write ends before close reads the clock
        return now

    recorder = Recorder(slow, recording.clock, monotonic, lambda: "id", recording.warnings.append)
    slow.let.clear()
    for name in ("a", "b", "c"):
        recorder.record(of_pod(name))
    assert not slow.let.is_set()
    recorder.close()
    assert 0 < slow.calls < 3
    recorder.record(of_pod("d"))
    assert slow.calls < 3
