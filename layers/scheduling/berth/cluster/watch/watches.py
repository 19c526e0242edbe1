"""Follows resources concurrently, with one thread each, for one consumer thread, which takes the events.

A resource is listed, and then watched again and again. It is listed again if a watch cannot continue. Guarantees:
events are delivered in the order of the server. After a Listed all events are delivered, except objects that could not
be read. An event may be delivered twice.

Not guaranteed: that a restore of etcd is detected. A resourceVersion from before the restore looks valid once the
server has passed that version. `relist_seconds` limits how long events can be missed.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from threading import Event as Flag
from typing import Generic, TypeVar

from berth.cluster.api_server.client import ApiServer
from berth.cluster.watch.lister_watcher import (
    WATCHERS_REMEDY,
    KubernetesListerWatcher,
    ListerWatcher,
    OptionalListerWatcher,
    ResourceExpired,
    WatchOptions,
    WatchRefused,
)
from berth.cluster.watch.resources import Projection, Resource
from berth.nodecache.feed.cluster import (
    ClusterUnavailable,
    ClusterWatch,
    Ended,
    Event,
    Expired,
    Failed,
    Interrupted,
    ResourceEvent,
    next_position,
)
from berth.nodecache.feed.head import Position

FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.5, 8.0
"""The first and the longest wait in seconds: a failure doubles the next wait, and any success resets it."""

SHORTEST_WATCH_SECONDS = 1.0
"""A watch that ends in fewer seconds without an event counts as a failure: an immediate retry would be a hot loop."""

REFUSALS_BEFORE_LIST = 3


@dataclass(slots=True)
class Reflector:
    """Follows a resource; for one thread. Other threads may set `stop`, which ends waits but not requests. jitter:
    returns a number between 0 and 1, the share by which a wait grows."""

    source: ListerWatcher
    stop: Flag
    clock: Callable[[], float]
    jitter: Callable[[], float]
    relist_seconds: float | None = None
    _next_wait: float = field(init=False, default=FIRST_WAIT_SECONDS)
    _position: Position | None = field(init=False, default=None)
    _is_unverified: bool = field(init=False, default=True)
    _just_listed: bool = field(init=False, default=False)
    _refusals: int = field(init=False, default=0)

    def events(self, resume: Position | None = None) -> Iterator[ResourceEvent]:
        """Yield all events until `stop` is set. With a valid position to resume from, it does not list first."""
        self._position = resume
        self._is_unverified = True
        while not self.stop.is_set():
            try:
                position, age = self._position, self.relist_seconds
                if position is None or (age is not None and self.clock() - position.listed_at >= age):
                    yield self._listed()
                else:
                    yield from self._watched(position.resource_version)
            except ResourceExpired:
                yield from self._expired()
            except (ClusterUnavailable, WatchRefused) as error:
                if not self.stop.is_set():
                    yield from self._interrupted(error)

    def _listed(self) -> ResourceEvent:
        # Use the time before the list: later changes may be missing from its pages.
        at = self.clock()
        received = ResourceEvent(self.source.resource, at, self.source.list_all())
        self._position = next_position(self._position, received)
        self._is_unverified = False
        self._just_listed = True
        self._refusals = 0
        return received

    def _watched(self, resource_version: str) -> Iterator[ResourceEvent]:
        if self._is_unverified and not self.source.has_reached(resource_version):
            raise ResourceExpired
        self._is_unverified = False
        started, silent = self.clock(), True
        for event in self.source.watch(resource_version):
            if self.stop.is_set():
                return
            silent = False
            self._succeeded()
            yield self._received(event)
        if self.stop.is_set():
            return
        if silent and self.clock() - started < SHORTEST_WATCH_SECONDS:
            raise ClusterUnavailable(f"a watch of {self.source.resource} ended at once, without an event")
        self._succeeded()
        yield self._received(Ended())

    def _expired(self) -> Iterator[ResourceEvent]:
        yield self._received(Expired())
        self._position = None
        if self._just_listed:
            # The list expired before its watch began: another list at once would expire too.
            self._wait()

    def _interrupted(self, error: ClusterUnavailable | WatchRefused) -> Iterator[ResourceEvent]:
        yield self._received(Interrupted(str(error)))
        # The server may restart with other data before the next answer.
        self._is_unverified = True
        if isinstance(error, WatchRefused):
            self._refusals += 1
            if self._refusals >= REFUSALS_BEFORE_LIST:
                self._position = None
        self._wait()

    def _succeeded(self) -> None:
        self._next_wait = FIRST_WAIT_SECONDS
        self._just_listed = False
        self._refusals = 0

    def _wait(self) -> None:
        wait, self._next_wait = self._next_wait, min(2 * self._next_wait, MAX_WAIT_SECONDS)
        self.stop.wait(wait * (1 + self.jitter()))

    def _received(self, event: Event) -> ResourceEvent:
        received = ResourceEvent(self.source.resource, self.clock(), event)
        self._position = next_position(self._position, received)
        return received


Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """A bounded queue between threads. It keeps the order of each producer."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[Item] = deque()
        self._changed = Condition()
        self._closed = False

    def put(self, item: Item) -> bool:
        """Put the item; wait while the queue is full. Return False, without putting it, if the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._capacity)
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def take(self, timeout: float) -> list[Item]:
        """Return all items in order. Wait up to `timeout` seconds for the first item; empty after that time."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._items), timeout)
            items = list(self._items)
            self._items.clear()
            self._changed.notify_all()
            return items

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


CAPACITY = 1000
"""Maximum number of queued events. If the consumer is slow, the server waits, and memory does not grow."""

LOOK_SECONDS = 0.025
"""The shortest time between two reads of the queue, in seconds. A read takes the interpreter's lock from a call."""

STOP_SECONDS = 6.0
"""Seconds to wait for the threads: longer than connecting, which is the only step that cannot be interrupted."""


class Watches(ClusterWatch):
    """Watches each resource in its own thread. Call `start`, `take` events, then `stop`; usable once. `positions` and
    `observed_at` include only events that were taken."""

    def __init__(
        self,
        reflectors: Mapping[str, Reflector],
        *,
        positions: Mapping[str, Position],
        stop: Flag,
        interrupt: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """Create the watches. `stop`: the reflectors' flag. `interrupt`: ends their requests to the server."""
        super().__init__(reflectors, positions)
        self._reflectors = reflectors
        self._stop = stop
        self._interrupt = interrupt
        self._clock = clock
        self._mailbox: BoundedQueue[ResourceEvent] = BoundedQueue(CAPACITY)
        self._looked_at = -math.inf
        self._threads = [
            Thread(target=self._follow, args=(name, positions.get(name)), name=f"watch-{name}", daemon=True)
            for name in reflectors
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        """Return all events since the last call. Wait up to `timeout` seconds for the first event; empty after that
        time. Calls in quick succession wait, so that events are taken in batches."""
        pause = min(timeout, LOOK_SECONDS, self._looked_at + LOOK_SECONDS - self._clock())
        if pause > 0:
            self._stop.wait(pause)
            timeout -= pause
        taken = self._mailbox.take(timeout)
        self._looked_at = self._clock()
        self._advance(taken)
        return taken

    def stop(self) -> None:
        self._stop.set()
        self._mailbox.close()
        self._interrupt()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(STOP_SECONDS)

    def _follow(self, name: str, resume: Position | None) -> None:
        try:
            for received in self._reflectors[name].events(resume):
                if not self._mailbox.put(received):
                    return
        except Exception as error:
            # A defect ends the thread. Tell the consumer, because otherwise the data would become stale silently.
            self._mailbox.put(ResourceEvent(name, self._clock(), Failed(error)))


def watch(
    api: ApiServer,
    projections: Mapping[Resource, Projection],
    *,
    clock: Callable[[], float],
    jitter: Callable[[], float],
    positions: Mapping[str, Position] | None = None,
    options: WatchOptions | None = None,
    relist_seconds: float | None = None,
    remedy: str = WATCHERS_REMEDY,
) -> Watches:
    """Return watches of an API server, over separate connections and not started yet. `relist_seconds`: the age at
    which a resource is listed again, even without an error. `remedy`: see KubernetesListerWatcher."""
    stop, own = Flag(), api.separate()

    def source(resource: Resource) -> ListerWatcher:
        versions = [
            KubernetesListerWatcher(
                own, replace(resource, version=version), options or WatchOptions(), projections[resource], remedy
            )
            for version in (resource.version, *resource.earlier_versions)
        ]
        return OptionalListerWatcher(versions, stop.wait) if resource.is_optional else versions[0]

    reflectors = {
        each.key: Reflector(source(each), stop=stop, clock=clock, jitter=jitter, relist_seconds=relist_seconds)
        for each in projections
    }
    return Watches(reflectors, positions=positions or {}, stop=stop, interrupt=own.close, clock=clock)
