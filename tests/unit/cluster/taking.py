"""The consumer's side of Watches, in tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from berth.cluster.watch.resources import Projection, Resource
from berth.cluster.watch.watches import Watches
from berth.nodecache.feed.cluster import Event, KubernetesObject, ResourceEvent
from berth.scheduling.fields.reading import part
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS


@contextmanager
def started(watches: Watches) -> Iterator[Watches]:
    watches.start()
    try:
        yield watches
    finally:
        watches.stop()


def running(watches: Watches) -> list[str]:
    return [thread.name for thread in watches._threads if thread.is_alive()]


def at_once() -> float:
    """Return jitter that shortens a wait to nearly zero."""
    return -0.99


def without_managed_fields(found: KubernetesObject) -> KubernetesObject:
    """Return the object without managedFields, which may be half of its size."""
    part(found, "metadata").pop("managedFields", None)
    return found


def whole(*resources: Resource) -> dict[Resource, Projection]:
    """Return a projection for each resource that drops only managedFields."""
    return dict.fromkeys(resources, without_managed_fields)


class Consumer:
    """Takes as many events as a test requests; further events stay for the next call."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._taken: list[ResourceEvent] = []

    def take(self, count: int) -> list[ResourceEvent]:
        """Wait for the next events and return them."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self._taken) < count:
            more = self._watches.take(deadline - time.monotonic())
            assert more, f"only {self._taken} came"
            self._taken += more
        taken, self._taken = self._taken[:count], self._taken[count:]
        return taken

    def events(self, count: int) -> list[Event]:
        return [received.event for received in self.take(count)]
