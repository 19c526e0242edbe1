"""What is waited for: pods that are bound, and a verdict on each pod. The watch is fed event by event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

import pytest

from tests.bench.scheduler.pod_watches import BoundPods, PodVerdicts, PodWatch, Verdict, verdict_of
from tests.e2e.kubernetes.kubernetes_api import ApiError, JsonObject

LONG, NONE = 60.0, 0.0
PLACED = {"nodeName": "n1"}
REJECTED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
FAILED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}]


def _event(name: str, spec: JsonObject | None = None, conditions: list[JsonObject] | None = None) -> JsonObject:
    pod = {"metadata": {"name": name}, "spec": spec or {}, "status": {"conditions": conditions or []}}
    return {"type": "ADDED", "object": pod}


class Feed:
    """The events of a watch."""

    def __init__(self) -> None:
        self._events: SimpleQueue[JsonObject] = SimpleQueue()
        self.is_closed = Event()

    def put(self, *events: JsonObject) -> None:
        for event in events:
            self._events.put(event)

    def __iter__(self) -> Iterator[JsonObject]:
        try:
            while True:
                yield self._events.get()
        finally:
            self.is_closed.set()


W = TypeVar("W", bound=PodWatch)


def _stepwise(watch: W, feed: Feed, *steps: Sequence[JsonObject]) -> W:
    """Each time the watch waits, the events of the next step come. After the last one it has waited long enough."""
    wait, left = watch._wait, iter(steps)

    def step(seconds: float) -> bool:
        events = next(left, None)
        if events is None:
            return False
        feed.put(*events)
        return wait(seconds)

    watch._wait = step  # type: ignore[method-assign]
    return watch


@pytest.fixture
def feed() -> Feed:
    return Feed()


@pytest.mark.parametrize(
    ("pod", "verdict"),
    [
        pytest.param(_event("a")["object"], Verdict.WAITING, id="new"),
        pytest.param({"metadata": {"name": "a"}, "spec": {}}, Verdict.WAITING, id="without a status"),
        pytest.param(_event("a", PLACED)["object"], Verdict.PLACED, id="on a node"),
        pytest.param(_event("a", PLACED, REJECTED)["object"], Verdict.PLACED, id="on a node, rejected before"),
        pytest.param(_event("a", {}, REJECTED)["object"], Verdict.REJECTED, id="no node fits"),
        pytest.param(_event("a", {}, FAILED)["object"], Verdict.WAITING, id="the bind failed: it is tried again"),
    ],
)
def test_verdict_is_by_node_and_condition(pod: JsonObject, verdict: Verdict) -> None:
    assert verdict_of(pod) is verdict


A_PLACED, B_PLACED, B_REJECTED = _event("a", PLACED), _event("b", PLACED), _event("b", {}, REJECTED)
C, C_PLACED, C_REJECTED = _event("c"), _event("c", PLACED), _event("c", {}, REJECTED)


@pytest.mark.parametrize(
    ("steps", "placed", "rejected", "waiting"),
    [
        pytest.param([[A_PLACED], [B_PLACED], [C_REJECTED], [C_PLACED]], 2, 1, 0, id="the rest is rejected"),
        pytest.param([[A_PLACED], [B_PLACED], [C], [C_PLACED], [C]], 3, 0, 0, id="one more than the slots is placed"),
        pytest.param([[A_PLACED], [B_REJECTED], [C_REJECTED], [B_PLACED]], 2, 1, 0, id="a rejected one is tried again"),
        pytest.param([[A_PLACED], [C], [B_REJECTED]], 1, 1, 1, id="a slot stays free"),
        pytest.param([[A_PLACED], [B_PLACED], [C]], 2, 0, 1, id="one is never tried"),
        pytest.param([], 0, 0, 0, id="no events"),
    ],
)
def test_two_slots_are_full_when_each_of_three_pods_has_a_verdict(
    feed: Feed, steps: Sequence[Sequence[JsonObject]], placed: int, rejected: int, waiting: int
) -> None:
    with _stepwise(PodVerdicts(feed), feed, *steps) as verdicts:
        found = verdicts.wait_for(2, 3, LONG)
    assert (found[Verdict.PLACED], found[Verdict.REJECTED], found[Verdict.WAITING]) == (placed, rejected, waiting)


def test_waits_until_all_are_bound(feed: Feed) -> None:
    with _stepwise(BoundPods(feed), feed, [_event("a")], [{**C, "type": "MODIFIED"}, _event("b")]) as bound:
        assert bound.wait_for(2, LONG, LONG) is None
    assert len(bound.times) == 2


def test_slow_case_is_measured_for_its_time(feed: Feed) -> None:
    with _stepwise(BoundPods(feed), feed, [_event("a")], [_event("b")]) as bound:
        end = bound.wait_for(2, LONG, NONE)
    assert bound.times == [end]


def test_case_that_binds_nothing_is_an_error(feed: Feed) -> None:
    with BoundPods(feed) as bound, pytest.raises(TimeoutError, match="no pod was bound within 0 s"):
        bound.wait_for(1, NONE, NONE)


def test_what_ends_the_watch_is_raised(feed: Feed) -> None:
    with PodVerdicts(feed) as verdicts:
        feed.put({"type": "ERROR", "object": {"code": 410, "message": "too old"}})
        with pytest.raises(ApiError, match="410: too old"):
            verdicts.wait_for(1, 1, LONG)


def test_watch_ends_with_the_first_event_after_its_block(feed: Feed) -> None:
    with BoundPods(feed) as bound:
        pass
    feed.put({**_event("a"), "type": "DELETED"})
    assert feed.is_closed.wait(LONG)
    assert bound.times == []
