"""Several reflectors and one consumer, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from queue import SimpleQueue
from threading import Event as Flag
from threading import Semaphore
from typing import Any

import pytest

from berth.cluster.watch.lister_watcher import ResourceExpired, WatchRefused
from berth.cluster.watch.watches import LOOK_SECONDS, Reflector, Watches
from berth.nodecache.feed.cluster import (
    Bookmark,
    ClusterUnavailable,
    Deleted,
    Ended,
    Event,
    Expired,
    Failed,
    Interrupted,
    Modified,
    WatchEvent,
)
from berth.nodecache.feed.head import Position
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS
from tests.unit.cluster.taking import Consumer, running, started
from tests.unit.cluster.watch.scripted_source import (
    List,
    Reached,
    RecordingFlag,
    ScriptedSource,
    Step,
    Watch,
    added,
    bookmark,
    listed,
    node,
)

DEFECT = ZeroDivisionError("a defect")


class Scripts:
    """Watches with one script for each resource, and the number of their interruptions."""

    def __init__(self, **scripts: list[Step]) -> None:
        self.interruptions = 0
        clock, stop = HandDrivenClock(), Flag()
        reflectors = {
            name: Reflector(ScriptedSource(clock, *steps, resource=name), stop=stop, clock=clock, jitter=lambda: 0.0)
            for name, steps in scripts.items()
        }
        self.watches = Watches(reflectors, positions={}, stop=stop, interrupt=self._interrupt, clock=clock)

    def _interrupt(self) -> None:
        self.interruptions += 1


def test_reports_exception_with_the_resource_and_continues_other_watches() -> None:
    scripts = Scripts(
        nodes=[List(listed("5")), Watch("5", [Bookmark("6"), DEFECT])],
        pods=[List(listed("7")), Watch("7", [Bookmark("8"), Bookmark("9"), Bookmark("10")])],
    )
    events: dict[str, list[Event]] = {"nodes": [], "pods": []}
    with started(scripts.watches) as watches:
        for received in Consumer(watches).take(3 + 4):
            events[received.resource].append(received.event)
        assert watches.positions["nodes"].resource_version == "6"
    assert events["nodes"] == [listed("5"), Bookmark("6"), Failed(DEFECT)]
    assert events["pods"][:4] == [listed("7"), Bookmark("8"), Bookmark("9"), Bookmark("10")]


class FedSource(ScriptedSource):
    """A source whose watch yields the events that a test feeds; they are in the queue when `feed` returns."""

    def __init__(self, clock: HandDrivenClock) -> None:
        super().__init__(clock, List(listed("5")))
        self._fed, self._asked = SimpleQueue[WatchEvent](), Semaphore(0)

    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        while True:
            self._asked.release()
            yield self._fed.get()

    def wait_until_watched(self) -> None:
        assert self._asked.acquire(timeout=PATIENCE_SECONDS)

    def feed(self, *events: WatchEvent) -> None:
        for event in events:
            self._fed.put(event)
            self.wait_until_watched()

    def end(self) -> None:
        """Send a last event, so that the reflector notices that it must stop."""
        self._fed.put(Bookmark("9"))


class Pauses(Flag):
    """The flag that ends pauses. Two events arrive during each pause."""

    def __init__(self, source: FedSource) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._source = source

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        self._source.feed(Bookmark("6"), Bookmark("7"))
        return False


def test_batches_events_soon_after_a_read_and_returns_others_at_once() -> None:
    clock = HandDrivenClock()
    source = FedSource(clock)
    pauses = Pauses(source)
    reflector = Reflector(source, stop=pauses, clock=clock, jitter=lambda: 0.0)
    watches = Watches({"nodes": reflector}, positions={}, stop=pauses, interrupt=lambda: None, clock=clock)
    watches.start()
    source.wait_until_watched()
    assert [each.event for each in watches.take(PATIENCE_SECONDS)] == [listed("5")]
    assert pauses.seconds == []

    clock.advance(LOOK_SECONDS / 2)
    assert [each.event for each in watches.take(PATIENCE_SECONDS)] == [Bookmark("6"), Bookmark("7")]
    assert [round(each, 6) for each in pauses.seconds] == [LOOK_SECONDS / 2]

    clock.advance(LOOK_SECONDS)
    source.feed(Bookmark("8"))
    assert [each.event for each in watches.take(PATIENCE_SECONDS)] == [Bookmark("8")]
    assert len(pauses.seconds) == 1

    pauses.set()
    source.end()
    watches.stop()
    assert running(watches) == []


def test_stop_interrupts_wait_for_server() -> None:
    scripts = Scripts(nodes=[List(listed("5"))])
    scripts.watches.start()
    scripts.watches.stop()
    assert scripts.interruptions == 1


START = 1_700_000_000.0
DOWN = ClusterUnavailable("the API server cannot be reached")
REFUSED = WatchRefused("the API server refused to watch nodes: internal error")
EXPIRED = ResourceExpired()
RESUMED = Position("7", START - 20, START - 600)


class Run:
    """A reflector with a script, from which a test pulls events."""

    def __init__(self, *steps: Step, resume: Position | None = None, **options: Any) -> None:
        self.clock = HandDrivenClock(START)
        self.stop = RecordingFlag(self.clock)
        self.source = ScriptedSource(self.clock, *steps)
        reflector = Reflector(self.source, stop=self.stop, clock=self.clock, **({"jitter": lambda: 0.0} | options))
        self.events = reflector.events(resume)

    def pull(self, count: int) -> list[tuple[float, Event]]:
        """Return the next events with the seconds since the start."""
        return [(received.at - START, received.event) for received in islice(self.events, count)]


def interrupted(cause: object, *times: float) -> list[tuple[float, Event]]:
    return [(time, Interrupted(str(cause))) for time in times]


@pytest.mark.parametrize(
    ("steps", "resume", "wanted", "waits"),
    [
        pytest.param(
            [List(listed("5", "a", "b")), Watch("5", [added("6"), Modified(node("a"), "7"), Deleted(node("a"), "8")])],
            None,
            [
                (0, listed("5", "a", "b")),
                (10, added("6")),
                (20, Modified(node("a"), "7")),
                (30, Deleted(node("a"), "8")),
                (40, Ended()),
            ],
            [],
            id="list, then watch from the list's version",
        ),
        pytest.param(
            [List(listed("5"), seconds=4.0), Watch("5", [bookmark("6")])],
            None,
            [(0, listed("5")), (14, bookmark("6"))],
            [],
            id="a list is as old as its request",
        ),
        pytest.param(
            [Reached("7", False), List(listed("3", "a")), Watch("3", [])],
            RESUMED,
            [(0, Expired()), (0, listed("3", "a")), (10, Ended())],
            [],
            id="a version that the server has not reached is not resumed",
        ),
        pytest.param(
            [Reached("7"), Watch("7", [EXPIRED]), List(listed("90", "a")), Watch("90", [added("91")])],
            RESUMED,
            [(10, Expired()), (10, listed("90", "a")), (20, added("91"))],
            [],
            id="an expired version is replaced by a list, at once",
        ),
        pytest.param(
            [
                List(listed("5")),
                Watch("5", [EXPIRED], 0.0),
                List(listed("6")),
                Watch("6", [EXPIRED], 0.0),
                List(listed("7")),
            ],
            None,
            [(0, listed("5")), (0, Expired()), (0.5, listed("6")), (0.5, Expired()), (1.5, listed("7"))],
            [0.5, 1.0],
            id="lists that expire before they can be watched are spaced out",
        ),
        pytest.param(
            [List(listed("5")), Watch("5", [added("6"), DOWN]), Reached("6"), Watch("6", [added("7")])],
            None,
            [(0, listed("5")), (10, added("6")), (20, Interrupted(str(DOWN))), (30.5, added("7"))],
            [0.5],
            id="a broken watch is resumed from the last version after a wait",
        ),
        pytest.param(
            [*[List(DOWN)] * 6, List(listed("5"))],
            None,
            [*interrupted(DOWN, 0, 0.5, 1.5, 3.5, 7.5, 15.5), (23.5, listed("5"))],
            [0.5, 1.0, 2.0, 4.0, 8.0, 8.0],
            id="waits double up to a limit",
        ),
        pytest.param(
            [
                *[List(DOWN)] * 2,
                List(listed("5")),
                Watch("5", [added("6"), DOWN]),
                *(Reached("6"), Watch("6", [added("7")])),
            ],
            None,
            [
                *interrupted(DOWN, 0, 0.5),
                (1.5, listed("5")),
                (11.5, added("6")),
                (21.5, Interrupted(str(DOWN))),
                (32, added("7")),
            ],
            [0.5, 1.0, 0.5],
            id="an event makes waits short again",
        ),
        pytest.param(
            [List(listed("5")), *(Watch("5", [], 0.0), Reached("5")) * 2, Watch("5", [added("6")])],
            None,
            [
                (0, listed("5")),
                (0, Interrupted("a watch of nodes ended at once, without an event")),
                (0.5, Interrupted("a watch of nodes ended at once, without an event")),
                (11.5, added("6")),
            ],
            [0.5, 1.0],
            id="watches that end at once are spaced out",
        ),
        pytest.param(
            [
                List(listed("5")),
                *(Watch("5", [REFUSED], 0.0), Reached("5")) * 2,
                Watch("5", [REFUSED], 0.0),
                List(listed("6")),
            ],
            None,
            [(0, listed("5")), *interrupted(REFUSED, 0, 0.5, 1.5), (3.5, listed("6"))],
            [0.5, 1.0, 2.0],
            id="a version at which the server fails again and again is given up",
        ),
        pytest.param(
            [
                List(listed("5")),
                Watch("5", [DOWN], 0.0),
                *[Reached("5", DOWN)] * 3,
                Reached("5"),
                Watch("5", [added("6")]),
            ],
            None,
            [(0, listed("5")), *interrupted(DOWN, 0, 0.5, 1.5, 3.5), (17.5, added("6"))],
            [0.5, 1.0, 2.0, 4.0],
            id="a long outage does not cause a list",
        ),
    ],
)
def test_lists_then_watches_and_resumes_in_order(
    steps: list[Step], resume: Position | None, wanted: list[tuple[float, Event]], waits: list[float]
) -> None:
    run = Run(*steps, resume=resume)
    assert run.pull(len(wanted)) == wanted
    assert run.source.finished
    assert run.stop.waits == waits


def test_lists_again_at_the_end_of_a_watch_if_the_list_is_old() -> None:
    run = Run(
        *(List(listed("5")), Watch("5", [added("6")]), Watch("6", [added("7")]), List(listed("8")), Watch("8", [])),
        relist_seconds=30.0,
    )
    assert run.pull(7) == [
        (0, listed("5")),
        (10, added("6")),
        (20, Ended()),
        (30, added("7")),
        (40, Ended()),
        (40, listed("8")),
        (50, Ended()),
    ]


def test_lists_at_once_if_the_predecessors_list_is_too_old() -> None:
    run = Run(List(listed("9")), resume=RESUMED, relist_seconds=600.0)
    assert run.pull(1) == [(0, listed("9"))]


def test_adds_jitter_to_waits() -> None:
    run = Run(*[List(DOWN)] * 3, List(listed("5")), jitter=iter([0.0, 0.5, 1.0]).__next__)
    run.pull(4)
    assert run.stop.waits == [0.5, 1.5, 4.0]


@pytest.mark.parametrize(
    ("steps", "before"),
    [
        pytest.param([List(listed("5")), Watch("5", [added("6"), added("7")])], 2, id="between two events"),
        pytest.param([List(listed("5")), Watch("5", [added("6")])], 2, id="before the end"),
        pytest.param([List(listed("5")), Watch("5", [added("6"), DOWN])], 2, id="before a failure"),
        pytest.param([List(listed("5"))], 1, id="after the list"),
        pytest.param([List(DOWN)], 1, id="before a wait"),
    ],
)
def test_does_not_emit_events_after_stop(steps: list[Step], before: int) -> None:
    run = Run(*steps)
    run.pull(before)
    run.stop.set()
    assert run.pull(1) == []
    assert run.source.finished
