"""Several reflectors and one consumer, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event as Flag
from threading import Semaphore

from berth.cluster.watch.watches import LOOK_SECONDS, Reflector, Watches
from berth.nodecache.feed.cluster import Bookmark, Event, Failed, WatchEvent
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS
from tests.unit.cluster.taking import Consumer, running, started
from tests.unit.cluster.watch.scripted_source import List, ScriptedSource, Step, Watch, listed

DEFECT = ZeroDivisionError("a defect")


class Scripts:
    """Watches on scripts, one for each resource, and how often they were interrupted."""

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


def test_reports_exception_with_its_resource_and_continues_the_others() -> None:
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
    """Its watch brings what a test feeds, and is in the queue when `feed` returns."""

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
        """A last event, with which the reflector sees that it is to stop."""
        self._fed.put(Bookmark("9"))


class Pauses(Flag):
    """The flag that ends pauses. In each of them two events come."""

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
