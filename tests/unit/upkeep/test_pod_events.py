"""The events on pods: their reasons and notes, and that nothing in them is a text of the pod's owner."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import OmissionReason
from berth.upkeep.pod_events import MAX_NOTE, PodEvent, PodEventReason, bounded, omission_event, reservation_event
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType

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
    "event_type",
    sorted(set(ReservationEventType) - {ReservationEventType.DIVERGED, ReservationEventType.BEYOND_LIMIT}),
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
def test_limits_length_of_the_note_and_escapes_it(text: str, note: str) -> None:
    assert bounded(text) == note
