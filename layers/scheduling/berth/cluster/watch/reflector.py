"""Follows one resource: list, watch, watch again, and list again if the watch cannot continue.

Guarantees: events are delivered in the order of the server. After a Listed all events are delivered, except objects
that could not be read. An event may be delivered twice.

Not guaranteed: after a restore of etcd, a resourceVersion from before the restore may go undetected once the server
has passed that version. `relist_seconds` limits how long events can be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event as Flag

from berth.cluster.watch.lister_watcher import ListerWatcher, ResourceExpired, WatchRefused
from berth.nodecache.feed.cluster import (
    ClusterUnavailable,
    Ended,
    Event,
    Expired,
    Interrupted,
    ResourceEvent,
    next_position,
)
from berth.nodecache.feed.head import Position

FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.5, 8.0


class Backoff:
    """Exponential backoff in seconds. `jitter`: a number between 0 and 1, the share by which a wait grows."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._next = FIRST_WAIT_SECONDS

    def next(self) -> float:
        wait, self._next = self._next, min(2 * self._next, MAX_WAIT_SECONDS)
        return wait * (1 + self._jitter())

    def reset(self) -> None:
        self._next = FIRST_WAIT_SECONDS


SHORTEST_WATCH_SECONDS = 1.0
"""A watch that ends sooner without an event is a failure: to retry it at once would be a hot loop."""

REFUSALS_BEFORE_LIST = 3


class Reflector:
    """Follows a resource; for one thread. Other threads may set `stop`, which ends waits but not requests."""

    def __init__(
        self,
        source: ListerWatcher,
        *,
        stop: Flag,
        clock: Callable[[], float],
        backoff: Backoff,
        relist_seconds: float | None = None,
    ) -> None:
        self._source = source
        self._stop = stop
        self._clock = clock
        self._backoff = backoff
        self._relist_seconds = relist_seconds
        self._position: Position | None = None
        self._is_unverified = True
        self._just_listed = False
        self._refusals = 0

    def events(self, resume: Position | None = None) -> Iterator[ResourceEvent]:
        """Yield all events until `stop` is set. With a valid position to resume from, it does not list first."""
        self._position = resume
        self._is_unverified = True
        while not self._stop.is_set():
            try:
                if self._position is None or self._list_is_due(self._position):
                    yield self._listed()
                else:
                    yield from self._watched(self._position.resource_version)
            except ResourceExpired:
                yield from self._expired()
            except (ClusterUnavailable, WatchRefused) as error:
                if not self._stop.is_set():
                    yield from self._interrupted(error)

    def _list_is_due(self, position: Position) -> bool:
        return self._relist_seconds is not None and self._clock() - position.listed_at >= self._relist_seconds

    def _listed(self) -> ResourceEvent:
        # Use the time before the list: later changes may be missing from its pages.
        at = self._clock()
        received = ResourceEvent(self._source.resource, at, self._source.list_all())
        self._position = next_position(self._position, received)
        self._is_unverified = False
        self._just_listed = True
        self._refusals = 0
        return received

    def _watched(self, resource_version: str) -> Iterator[ResourceEvent]:
        if self._is_unverified and not self._source.has_reached(resource_version):
            raise ResourceExpired
        self._is_unverified = False
        started, silent = self._clock(), True
        for event in self._source.watch(resource_version):
            if self._stop.is_set():
                return
            silent = False
            self._succeeded()
            yield self._received(event)
        if self._stop.is_set():
            return
        if silent and self._clock() - started < SHORTEST_WATCH_SECONDS:
            raise ClusterUnavailable(f"a watch of {self._source.resource} ended at once, without an event")
        self._succeeded()
        yield self._received(Ended())

    def _expired(self) -> Iterator[ResourceEvent]:
        yield self._received(Expired())
        self._position = None
        if self._just_listed:
            # The list expired before its watch began: another list at once would expire too.
            self._stop.wait(self._backoff.next())

    def _interrupted(self, error: ClusterUnavailable | WatchRefused) -> Iterator[ResourceEvent]:
        yield self._received(Interrupted(str(error)))
        # The server may restart with other data before the next answer.
        self._is_unverified = True
        if isinstance(error, WatchRefused):
            self._refusals += 1
            if self._refusals >= REFUSALS_BEFORE_LIST:
                self._position = None
        self._stop.wait(self._backoff.next())

    def _succeeded(self) -> None:
        self._backoff.reset()
        self._just_listed = False
        self._refusals = 0

    def _received(self, event: Event) -> ResourceEvent:
        received = ResourceEvent(self._source.resource, self._clock(), event)
        self._position = next_position(self._position, received)
        return received
