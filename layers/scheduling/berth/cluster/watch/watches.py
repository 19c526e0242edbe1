"""Watches several resources concurrently, with one thread each, for one consumer thread, which takes the events."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Condition, Thread
from threading import Event as Flag
from typing import Generic, TypeVar

from berth.cluster.api_server.client import ApiServer
from berth.cluster.watch.lister_watcher import (
    WATCHERS_REMEDY,
    KubernetesListerWatcher,
    ListerWatcher,
    OptionalListerWatcher,
    WatchOptions,
)
from berth.cluster.watch.reflector import Backoff, Reflector
from berth.cluster.watch.resources import Projection, Resource, without_managed_fields
from berth.nodecache.feed.cluster import ClusterWatch, Failed, ResourceEvent
from berth.nodecache.feed.head import Position

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
        """Wake all waiting threads. Queued items can still be taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


CAPACITY = 1000
"""Maximum number of queued events. If the consumer is slow, the server waits, and memory does not grow."""

LOOK_SECONDS = 0.025
"""The shortest time between two reads of the queue. Each read takes the interpreter's lock from a call of a verb."""

STOP_SECONDS = 6.0
"""Longer than connecting may take, which is the only step that cannot be interrupted."""


class Watches(ClusterWatch):
    """Watches with a thread for each resource. Call `start`, `take` events, then `stop`; usable once.

    `positions` and `observed_at` include only events that were taken.
    """

    def __init__(
        self,
        reflectors: Mapping[str, Reflector],
        *,
        positions: Mapping[str, Position],
        stop: Flag,
        interrupt: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        """`stop`: the reflectors' flag. `interrupt`: ends their requests to the server."""
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
        """End every watch and wait for the threads."""
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
    resources: Iterable[Resource],
    *,
    clock: Callable[[], float],
    jitter: Callable[[], float],
    positions: Mapping[str, Position] | None = None,
    options: WatchOptions | None = None,
    relist_seconds: float | None = None,
    projections: Mapping[Resource, Projection] | None = None,
    remedy: str = WATCHERS_REMEDY,
) -> Watches:
    """Return watches of an API server, over separate connections and not started yet.

    `positions`: the positions of a predecessor. `relist_seconds`: the age at which a resource is listed again, even
    without an error. `projections`: by resource; other objects keep all fields except managedFields. `remedy`: see
    KubernetesListerWatcher.
    """
    stop, own = Flag(), api.separate()
    reflectors = {
        resource.key: Reflector(
            _source(own, resource, options, (projections or {}).get(resource, without_managed_fields), remedy, stop),
            stop=stop,
            clock=clock,
            backoff=Backoff(jitter),
            relist_seconds=relist_seconds,
        )
        for resource in resources
    }
    return Watches(reflectors, positions=positions or {}, stop=stop, interrupt=own.close, clock=clock)


def _source(
    api: ApiServer,
    resource: Resource,
    options: WatchOptions | None,
    projection: Projection,
    remedy: str,
    stop: Flag,
) -> ListerWatcher:
    versions = [
        KubernetesListerWatcher(api, replace(resource, version=version), options or WatchOptions(), projection, remedy)
        for version in (resource.version, *resource.earlier_versions)
    ]
    return OptionalListerWatcher(versions, stop.wait) if resource.is_optional else versions[0]
