"""A lister-watcher that follows a script; time passes only as the script says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event as Flag

from berth.cluster.watch.lister_watcher import ListerWatcher
from berth.nodecache.feed.cluster import Added, Bookmark, Listed, WatchEvent
from tests.fakes.clock import HandDrivenClock


@dataclass(frozen=True, slots=True)
class List:
    """A list call with its outcome, and the seconds that the call takes."""

    outcome: Listed | Exception
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Watch:
    """A watch from `resource_version` with its events. `seconds` pass before each event, and before the end."""

    resource_version: str
    events: Sequence[WatchEvent | Exception]
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Reached:
    """A request that finds out whether the server has reached `resource_version`."""

    resource_version: str
    outcome: bool | Exception = True


Step = List | Watch | Reached


class ScriptedSource(ListerWatcher):
    """Takes the steps in order and fails on any other call."""

    def __init__(self, clock: HandDrivenClock, *steps: Step, resource: str = "nodes") -> None:
        self._clock = clock
        self._steps = list(steps)
        self.resource = resource

    @property
    def finished(self) -> bool:
        return not self._steps

    def list_all(self) -> Listed:
        step = self._next()
        assert isinstance(step, List), f"the script has {step} next, but a list was asked for"
        self._clock.advance(step.seconds)
        if isinstance(step.outcome, Exception):
            raise step.outcome
        return step.outcome

    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        step = self._next()
        assert isinstance(step, Watch), f"the script has {step} next, but a watch was asked for"
        assert resource_version == step.resource_version
        for event in step.events:
            self._clock.advance(step.seconds)
            if isinstance(event, Exception):
                raise event
            yield event
        self._clock.advance(step.seconds)

    def has_reached(self, resource_version: str) -> bool:
        step = self._next()
        assert isinstance(step, Reached), f"the script has {step} next, but {resource_version} was asked for"
        assert resource_version == step.resource_version
        if isinstance(step.outcome, Exception):
            raise step.outcome
        return step.outcome

    def _next(self) -> Step:
        assert self._steps, "the script has ended"
        return self._steps.pop(0)


class RecordingFlag(Flag):
    """A stop flag that records its waits, which only advance the clock."""

    def __init__(self, clock: HandDrivenClock) -> None:
        super().__init__()
        self._clock = clock
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.waits.append(timeout)
        self._clock.advance(timeout)
        return self.is_set()


def node(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


def listed(version: str, *names: str) -> Listed:
    return Listed(tuple(node(name) for name in names), version)


def added(version: str, name: str = "a") -> Added:
    return Added(node(name), version)


def bookmark(version: str) -> Bookmark:
    return Bookmark(version)
