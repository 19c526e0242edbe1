"""Run parts of the leader's work in threads, so that calls to a table or the API server do not delay publications.

The reconciler gets each publication in order. It ends with the run; the next leader's reconciler continues its work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event, Thread
from typing import Protocol, TypeVar

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.leader import Publication
from berth.nodecache.snapshot_view import DecodedObjects, DecodedResource
from berth.runtime.adapters import log
from berth.runtime.http.events import WARM_UP_EVENT
from berth.upkeep.reconciler.reconciler import Reconciler


class BackgroundSteps:
    """Repeat a step in a thread, from the first publication of a leadership to its end."""

    def __init__(self, step: Callable[[], float], name: str, failure: str) -> None:
        """step: does a piece of work and returns the seconds until the next one. failure: begins the log line if it
        raises."""
        self._step = step
        self._name = name
        self._failure = failure
        self._is_closed = False
        self._is_wanted = Event()
        self._thread: Thread | None = None

    def published(self) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def run_soon(self) -> None:
        """Let the next step begin without waiting."""
        self._is_wanted.set()

    def close(self) -> None:
        """End the thread after the running call."""
        self._is_closed = True
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        seconds = 0.0
        while True:
            self._is_wanted.wait(seconds)
            self._is_wanted.clear()
            if self._is_closed:
                return
            try:
                seconds = self._step()
            except Exception:
                log.exception("%s; the next attempt is in %g s", self._failure, PAUSE_SECONDS)
                seconds = PAUSE_SECONDS


STOP_SECONDS = 4.0
"""Longest wait for a thread's end, part of the run's margin. A call that still hangs afterwards has no effect."""

PAUSE_SECONDS = 5.0
"""Pause before the next attempt after a defect in Berth."""

T = TypeVar("T")

_RESOURCES = ("nodes", "pods")
_Published = tuple[tuple[Change, ...], float]


class BackgroundReconciler:
    """Reconcile reservations in a thread. The publishing thread passes every publication. Close it at the handover."""

    def __init__(self, begin: Callable[[int], Reconciler]) -> None:
        """begin: creates the reconciler of a leadership's epoch; called once, in the thread."""
        self._begin = begin
        self._queue: deque[_Published] = deque()
        self._wake = Condition()
        self._is_closed = False
        self._thread: Thread | None = None
        self._reconciler: Reconciler | None = None

    @property
    def is_deposed(self) -> bool:
        """Return whether the ledger has a later epoch than this leadership's."""
        return self._reconciler is not None and self._reconciler.is_deposed

    def published(self, publication: Publication) -> None:
        """Queue the publication's changes. The thread starts with all objects, once all of them are published."""
        if self._thread is not None:
            self._enqueue(publication.changes, _observed_at(publication))
        elif publication.is_complete:
            self._enqueue((Change(*key, obj) for key, obj in publication.objects.items()), _observed_at(publication))
            self._thread = Thread(target=self._run, args=(publication.epoch,), name="reservations", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread after the running call."""
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
        reconciler = self._reconciler = self._begin(epoch)
        seconds = 0.0
        while self._learn_published(reconciler, seconds):
            try:
                seconds = reconciler.work()
            except Exception:
                log.exception("the reservations were not reconciled; the next attempt is in %g s", PAUSE_SECONDS)
                seconds = PAUSE_SECONDS

    def _learn_published(self, reconciler: Reconciler, seconds: float) -> bool:
        """Wait up to `seconds` for a publication, and pass on all that came. Return False if it is closed."""
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
    """Return the `observed_at` of the published pods, in seconds since the epoch, or 0 if it is unknown."""
    pods = publication.observation.positions.get("pods")
    return 0.0 if pods is None else pods.observed_at


def _readable(latest: DecodedResource[T]) -> dict[str, T | None]:
    """Omit unreadable objects. Decisions treat them as deleted; here their reservations must be kept."""
    return {key: found for key, found in latest.found.items() if key not in latest.unreadable}


INTERVAL_SECONDS = 10.0
"""Time between two warm-up events. They go to the alias, so they start a deployed version of every function soon.
Lambda keeps an environment that is invoked this often, and there are few changes to load."""


class LambdaClient(Protocol):
    """The one method of boto3's Lambda client that is used."""

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> object:  # noqa: N803  boto3's names
        """Invoke a function. Raises ClientError and BotoCoreError."""


class WarmUp:
    """Invokes the functions in a thread, without waiting for their answers."""

    def __init__(
        self,
        client: Callable[[], LambdaClient],
        functions: Sequence[str],
        monotonic: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """`client`: called when the first event is sent. `warn`: called with the cause of a failed invocation."""
        self._client = client
        self._functions = functions
        self._monotonic = monotonic
        self._warn = warn
        self._sent_at: float | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="warm-up")

    def published(self) -> None:
        """Send the events at most once in ten seconds. Call it after every publication."""
        now = self._monotonic()
        if self._functions and (self._sent_at is None or now - self._sent_at >= INTERVAL_SECONDS):
            self._sent_at = now
            self._thread.submit(self._send)

    def close(self) -> None:
        self._thread.shutdown()

    def _send(self) -> None:
        for function in self._functions:
            try:
                self._client().invoke(
                    FunctionName=function, InvocationType="Event", Payload=orjson.dumps(WARM_UP_EVENT)
                )
            except (ClientError, BotoCoreError) as error:
                self._warn(f"{function} was not warmed up: {error}")
