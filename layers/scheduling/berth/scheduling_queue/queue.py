"""The port to the scheduling queue: waking it makes the scheduler retry rejected pods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from berth.nodecache.feed.cluster import ClusterUnavailable


class SchedulingQueue(ABC):
    """The scheduler's queue, where rejected pods wait for an event (fact 41)."""

    @abstractmethod
    def wake(self, waiting: Sequence[str]) -> None:
        """Make the scheduler retry the pods that an extender rejected (fact 43). `waiting`: `namespace/name`.

        Raises ClusterUnavailable.
        """


class NoSchedulingQueue(SchedulingQueue):
    """No queue: for a dump, or a configuration with `wakeUp: none`."""

    def wake(self, waiting: Sequence[str]) -> None:
        return None


class BackgroundQueue(SchedulingQueue):
    """Wakes another queue in a thread, one call at a time. Calls in the meantime become one call afterwards."""

    def __init__(self, queue: SchedulingQueue, warn: Callable[[str], None]) -> None:
        """`warn`: called with the cause when the queue could not be woken."""
        self._queue = queue
        self._warn = warn
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wake-up")
        self._next: Future[None] | None = None

    def wake(self, waiting: Sequence[str]) -> None:
        # The new call replaces one that has not started.
        if self._next is not None and not self._next.running() and not self._next.done():
            self._next.cancel()
        self._next = self._thread.submit(self._wake, tuple(waiting))

    def close(self) -> None:
        """Wait for the running call."""
        self._thread.shutdown()

    def _wake(self, waiting: Sequence[str]) -> None:
        try:
            self._queue.wake(waiting)
        except ClusterUnavailable as error:
            self._warn(f"waiting pods were not woken: {error}")
