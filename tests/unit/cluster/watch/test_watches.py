"""Several reflectors and one consumer, without a server."""

from __future__ import annotations

from threading import Event as Flag

from berth.cluster.watch.reflector import Backoff, Reflector
from berth.cluster.watch.watches import Watches
from berth.nodecache.feed.cluster import Bookmark, Event, Failed
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.taking import Consumer
from tests.unit.cluster.watch.scripted_source import List, ScriptedSource, Step, Watch, listed

DEFECT = ZeroDivisionError("a defect")


class Scripts:
    """Watches on scripts, one for each resource, and how often they were interrupted."""

    def __init__(self, **scripts: list[Step]) -> None:
        self.interruptions = 0
        clock, stop = HandDrivenClock(), Flag()
        reflectors = {
            name: Reflector(
                ScriptedSource(clock, *steps, resource=name), stop=stop, clock=clock, backoff=Backoff(lambda: 0.0)
            )
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
    with scripts.watches as watches:
        for received in Consumer(watches).take(3 + 4):
            events[received.resource].append(received.event)
        assert watches.positions["nodes"].resource_version == "6"
    assert events["nodes"] == [listed("5"), Bookmark("6"), Failed(DEFECT)]
    assert events["pods"][:4] == [listed("7"), Bookmark("8"), Bookmark("9"), Bookmark("10")]


def test_stop_interrupts_wait_for_server() -> None:
    scripts = Scripts(nodes=[List(listed("5"))])
    scripts.watches.start()
    scripts.watches.stop()
    assert scripts.interruptions == 1
