"""What the page receives: the state as documents, and each change of it once, numbered.

One thread follows the source. Requests read documents and changes from others.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread

import orjson

from berth_cli.console.cluster.source import ClusterNotObserved, ClusterSource, ObservedCluster
from berth_cli.console.documents.cluster_state import ClusterState

VERSION = 1
"""Of the documents. Page and server are of one release, so that a page of another one reloads itself."""

OBSERVE_SECONDS = 1.0
PAUSE_SECONDS = 1.0
STOP_SECONDS = 3.0
MOST_CHANGES = 256
MOST_CHANGE_BYTES = 32_000_000
"""Changes that are kept for pages that follow. A page that is further behind reads the whole state again."""

log = logging.getLogger("berth.console")


@dataclass(frozen=True, slots=True)
class Condition:
    """How current the state is. sequence: 0 before the first one. problem: see ObservedCluster. max_staleness: of the
    configuration in force, in seconds: verbs call older data stale; None before the first state."""

    sequence: int
    observed_at: float
    problem: str
    max_staleness: float | None = None

    def document(self, now: float) -> dict[str, object]:
        """For the page. age: the page's own clock may differ from this one."""
        age = max(0.0, now - self.observed_at) if self.sequence else None
        return {
            "sequence": self.sequence,
            "ageSeconds": age,
            "maxStalenessSeconds": self.max_staleness,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """The change that leads to the state of this number, as JSON."""

    sequence: int
    document: bytes


class Feed:
    """Safe to share between threads."""

    def __init__(
        self, source: ClusterSource, wall: Callable[[], float], most_change_bytes: int = MOST_CHANGE_BYTES
    ) -> None:
        """`wall`: seconds since the epoch."""
        self._source, self._wall, self._most_change_bytes = source, wall, most_change_bytes
        # Making a document of a large cluster takes part of a second. Who only reads changes does not wait for it.
        self._state_lock, self._lock = Lock(), Lock()
        self._state = ClusterState()
        self._condition = Condition(0, 0.0, "nothing was read yet")
        self._changes: deque[Change] = deque(maxlen=MOST_CHANGES)
        self._documents: dict[str, tuple[int, bytes]] = {}
        self._observed: ObservedCluster | None = None
        self._listeners: list[Callable[[], None]] = []
        self._stop = Event()

    # The thread that follows

    def observe(self, timeout: float = OBSERVE_SECONDS) -> None:
        """Look at the source once."""
        found = self._source.observe(timeout)
        if isinstance(found, ClusterNotObserved):
            self._note(found.reason)
            return
        before, configured = self._observed, found.configured
        with self._state_lock:
            counting = configured.policy.counting
            state, changes = self._state.after(found.snapshot, counting)
            sequence, change = self._condition.sequence, None
            # Another configuration shows in other views than the map.
            if before is None or before.configured is not configured or not changes.are_empty:
                sequence += 1
                document = {"sequence": sequence, "counted": list(counting.resources), **changes.document()}
                # The first state is everything: who has nothing reads the documents.
                change = None if before is None else Change(sequence, orjson.dumps(document))
            # Only now: where one of these steps fails, the next look has to find the change again.
            self._state, self._observed = state, found
            max_staleness = configured.document.node_cache.max_staleness
            self._publish(Condition(sequence, found.observed_at, found.problem, max_staleness), change)

    def _publish(self, condition: Condition, change: Change | None) -> None:
        with self._lock:
            before, self._condition = self._condition, condition
            if change is not None:
                self._keep(change)
            listeners = list(self._listeners)
        # Older and younger data is news every few seconds only.
        if before != replace(condition, observed_at=before.observed_at):
            for listener in listeners:
                listener()

    def _keep(self, change: Change) -> None:
        self._changes.append(change)
        while sum(len(each.document) for each in self._changes) > self._most_change_bytes:
            self._changes.popleft()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow the source in a thread until the block ends."""
        thread = Thread(target=self._follow, name="console-feed", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._source.close()
            thread.join(STOP_SECONDS)

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self.observe()
            except Exception as error:
                # A defect must not leave a page that looks current.
                log.exception("the console cannot read %s", self._source.name)
                self._note(f"the console cannot read it: {type(error).__name__}")
                self._stop.wait(PAUSE_SECONDS)

    def _note(self, problem: str) -> None:
        self._publish(replace(self._condition, problem=problem), None)

    # Requests

    @property
    def condition(self) -> Condition:
        """How current the state is."""
        return self._condition

    @property
    def observed(self) -> ObservedCluster | None:
        """What was read last; None before the first state."""
        return self._observed

    def nodes(self) -> bytes | None:
        """All nodes as JSON; None before the first state."""
        return self._document("nodes")

    def pods(self) -> bytes | None:
        """All pods as JSON; None before the first state."""
        return self._document("pods")

    def changes_after(self, sequence: int) -> list[Change] | None:
        """The changes that follow this state; None where some of them are not kept, or where it is no state of this
        process."""
        with self._lock:
            last = self._condition.sequence
            if sequence == last:
                return []
            found = [each for each in self._changes if each.sequence > sequence]
            return found if sequence < last and len(found) == last - sequence else None

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Until the block ends, call this after each change. It must not wait."""
        with self._lock:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

    def _document(self, part: str) -> bytes | None:
        """Made once for each state, however many ask."""
        with self._state_lock:
            condition, observed = self._condition, self._observed
            if observed is None:
                return None
            known = self._documents.get(part)
            if known is None or known[0] != condition.sequence:
                table = self._state.nodes() if part == "nodes" else self._state.pods()
                known = self._documents[part] = (condition.sequence, orjson.dumps({part: table}))
            head = {
                "version": VERSION,
                **condition.document(self._wall()),
                "source": {"kind": self._source.kind, "name": self._source.name},
                "counted": list(observed.configured.policy.counting.resources),
            }
        return orjson.dumps(head)[:-1] + b"," + known[1][1:]
