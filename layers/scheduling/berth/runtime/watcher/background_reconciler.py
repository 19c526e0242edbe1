"""The leader's reconciler, in a thread beside the one that publishes: neither waits for the other.

It takes what was published, in order, and works through it. It ends with the candidacy; what it leaves undone, its
successor finds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from threading import Condition, Thread
from typing import TypeVar

from berth.nodecache.decoded import DecodedObjects, DecodedResource
from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.leader import Publication
from berth.reservations.reconciler.reconciler import Reconciler
from berth.runtime.adapters import log

STOP_SECONDS = 4.0
"""Of the candidacy's margin. What is under way then is a call that hangs; its answer changes nothing any more."""

PAUSE_SECONDS = 5.0
"""After a defect of ours."""

T = TypeVar("T")

_RESOURCES = ("nodes", "pods")
_Published = tuple[tuple[Change, ...], float]


class BackgroundReconciler:
    """Told of every publication by the thread that publishes. Close it at the hand-over."""

    def __init__(self, begin: Callable[[int], Reconciler]) -> None:
        """begin: makes a reconciler for a leadership of this epoch; called once, in the thread."""
        self._begin = begin
        self._queue: deque[_Published] = deque()
        self._wake = Condition()
        self._is_closed = False
        self._thread: Thread | None = None

    def published(self, publication: Publication) -> None:
        """Learn from this publication. The thread starts with all objects, once all of them are published."""
        if self._thread is not None:
            self._enqueue(publication.changes, _observed_at(publication))
        elif publication.is_complete:
            self._enqueue((Change(*key, obj) for key, obj in publication.objects.items()), _observed_at(publication))
            self._thread = Thread(target=self._run, args=(publication.epoch,), name="reservations", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread, after what is under way."""
        with self._wake:
            self._is_closed = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _enqueue(self, changes: Iterable[Change], observed_at: float) -> None:
        relevant = tuple(change for change in changes if change.resource in _RESOURCES)
        with self._wake:
            if not relevant and self._queue and not self._queue[-1][0]:
                self._queue.pop()
            self._queue.append((relevant, observed_at))
            self._wake.notify()

    def _run(self, epoch: int) -> None:
        reconciler = self._begin(epoch)
        seconds = 0.0
        while self._learn_published(reconciler, seconds):
            try:
                seconds = reconciler.work()
            except Exception:
                log.exception("the reservations were not reconciled; it is tried again in %g s", PAUSE_SECONDS)
                seconds = PAUSE_SECONDS

    def _learn_published(self, reconciler: Reconciler, seconds: float) -> bool:
        """Wait for so long, or until something is published, and learn it. False: the end."""
        with self._wake:
            if not self._queue and not self._is_closed and seconds > 0:
                self._wake.wait(seconds)
            if self._is_closed:
                return False
            published = [self._queue.popleft() for _ in range(len(self._queue))]
        for changes, observed_at in published:
            found = DecodedObjects(changes)
            nodes, pods = _readable(found.nodes), _readable(found.pods)
            reconciler.update(nodes, pods, observed_at)
        return True


def _observed_at(publication: Publication) -> float:
    """How old what is published of pods is, in seconds since the epoch."""
    pods = publication.observation.positions.get("pods")
    return 0.0 if pods is None else pods.observed_at


def _readable(latest: DecodedResource[T]) -> dict[str, T | None]:
    """What cannot be read counts as gone for decisions; here it stays what it was, and nothing of it is given back."""
    return {key: found for key, found in latest.found.items() if key not in latest.unreadable}
