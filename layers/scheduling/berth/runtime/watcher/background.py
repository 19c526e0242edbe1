"""Runs parts of the leader's work in threads, so that calls to a table or the API server do not delay publications.

The reconciler gets each publication in order. It ends with the run; the next leader's reconciler continues its work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import Event, Thread
from typing import TypeVar

import orjson
from botocore.exceptions import BotoCoreError, ClientError

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.leader import Publication
from berth.nodecache.snapshot_view import DecodedObjects, DecodedResource
from berth.runtime.adapters import log
from berth.runtime.aws_clients import LambdaClient
from berth.runtime.http.events import WARM_UP_EVENT
from berth.upkeep.reconciler.reconciler import Reconciler


class BackgroundSteps:
    """Repeats a step in a thread, from the first publication of a leadership to its end."""

    def __init__(self, step: Callable[[], float], name: str, failure: str, *, once: bool = False) -> None:
        """Prepare the step. step: does a piece of work and returns the seconds until the next step. failure: begins the
        log line of an exception. once: the run publishes once and ends, so the step runs once, without a thread."""
        self._step = step
        self._name = name
        self._failure = failure
        self._once = once
        self._has_begun = False
        self._is_closed = False
        self._is_wanted = Event()
        self._thread: Thread | None = None

    def published(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        if self._once:
            self._step()
        else:
            self._thread = Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def run_soon(self) -> None:
        self._is_wanted.set()

    def close(self) -> None:
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
"""Maximum seconds to wait for a thread's end, as part of the run's margin. A call that hangs longer does no harm."""

PAUSE_SECONDS = 5.0
"""Seconds before the next attempt after a defect in Berth."""

T = TypeVar("T")

_RESOURCES = ("nodes", "pods")
_Published = tuple[tuple[Change, ...], float]
"""Changes, and the `observed_at` of the published pods, in seconds since the epoch; 0 if it is unknown."""


class ReconcilerFeed:
    """Passes publications to a leadership's reconciler. The publishing thread calls `published`, another one `step`."""

    def __init__(self, begin: Callable[[int], Reconciler]) -> None:
        """Prepare the feed. begin: creates the reconciler for an epoch; called once, by the thread of `step`."""
        self._begin = begin
        self._queue: deque[_Published] = deque()
        self._epoch: int | None = None
        self._reconciler: Reconciler | None = None

    @property
    def is_deposed(self) -> bool:
        """Return whether the ledger has a later epoch than this leadership."""
        return self._reconciler is not None and self._reconciler.is_deposed

    def published(self, publication: Publication) -> bool:
        """Queue the publication's changes. The first time, wait until all objects are published, and queue all of
        them; return False until then."""
        changes: Iterable[Change] = publication.changes
        if self._epoch is None:
            if not publication.is_complete:
                return False
            self._epoch = publication.epoch
            changes = (Change(*key, obj) for key, obj in publication.objects.items())
        relevant = tuple(change for change in changes if change.resource in _RESOURCES)
        pods = publication.observation.positions.get("pods")
        self._queue.append((relevant, 0.0 if pods is None else pods.observed_at))
        return True

    def step(self) -> float:
        """Pass on all publications, and do a piece of work. Return the seconds until the next one."""
        assert self._epoch is not None  # `published` was called before
        reconciler = self._reconciler = self._reconciler or self._begin(self._epoch)
        while self._queue:
            changes, observed_at = self._queue[0]
            found = DecodedObjects(changes)
            nodes, pods = _readable(found.nodes), _readable(found.pods)
            reconciler.update(nodes, pods, observed_at)
            self._queue.popleft()
        return reconciler.work()


def _readable(latest: DecodedResource[T]) -> dict[str, T | None]:
    """Omit unreadable objects: decisions treat them as deleted, but their reservations must be kept."""
    return {key: found for key, found in latest.found.items() if key not in latest.unreadable}


INTERVAL_SECONDS = 10.0
"""Seconds between two warm-up events. They go to the alias, so they soon start a newly deployed version. Lambda keeps
an environment that is invoked this often, and there are few changes to load."""


class WarmUp:
    def __init__(
        self, client: Callable[[], LambdaClient], functions: Sequence[str], warn: Callable[[str], None]
    ) -> None:
        """Prepare the events. `client`: called when the first event is sent. `warn`: called with the cause of a failed
        invocation."""
        self._client = client
        self._functions = functions
        self._warn = warn

    def step(self) -> float:
        for function in self._functions:
            try:
                self._client().invoke(
                    FunctionName=function, InvocationType="Event", Payload=orjson.dumps(WARM_UP_EVENT)
                )
            except (ClientError, BotoCoreError) as error:
                self._warn(f"{function} was not warmed up: {error}")
        return INTERVAL_SECONDS
