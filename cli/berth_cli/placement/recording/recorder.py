"""Records the decisions of `berth serve`, with their states, in a file. A call only passes references to a thread,
which follows the node cache version by version and writes. A decision is dropped if its state is no longer available,
or if too many decisions wait. The recording contains the number of dropped decisions. A write failure, such as a full
disk, ends the recording, but does not affect calls.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from queue import Full, Queue
from threading import Event, Lock, Thread

from berth.configuration.store import ConfigurationInvalid
from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import FilterOutcome, Outcome
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder
from berth.nodecache.feed.changes import Change, CorruptItem, unpack
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.reader import LogPosition, NodeCacheReader, NothingPublished, read_log
from berth.nodecache.feed.table import CacheTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.recording.format import (
    MAX_VERSIONS,
    AppliedPolicy,
    AssumedRow,
    DecisionLine,
    Gap,
    RecordingWriter,
    State,
    digest,
    digest_of_verdicts,
)
from berth_cli.sources.cached_objects import ObjectsView
from berth_cli.sources.pod_document import pod_document

MAX_LATER = MAX_VERSIONS // 2
"""The maximum number of later versions to write before a decision. A call may use a later version than it has read,
if another thread has applied the later version meanwhile."""

MAX_WAITING = 500
"""The maximum number of decisions that wait to be written. Each refers to the names of its request: half a megabyte
with 5,000 nodes."""

SECONDS = 0.25
"""The interval in seconds at which the thread writes. Calls do not wake the thread, because that would delay
their responses."""

PAUSE_SECONDS = 0.0005
"""The pause after each decision, so that waiting calls run first."""


class StateLog:
    """Follows a node cache. States are read when they are published, and written when a decision needs them, because a
    reader of the recording keeps only the last states. Not thread-safe."""

    def __init__(self, table: CacheTable, write: Callable[[State], None]) -> None:
        """Begin without a state. write: called with each state, in order."""
        self._table, self._write = table, write
        self._cursor: tuple[str, Pointer] | None = None
        self._unwritten: deque[State] = deque()
        self._first = self._last = 0

    def read(self) -> None:
        """Read the changes that were published since the last read."""
        try:
            head = self._table.head()
            if head is None or head.pointer is None or head.pointer.unreadable_reason:
                return
            states = self._states_since(head.uid, head.pointer)
            if states is None:
                self._begin()
                return
        except TableUnavailable:
            return
        self._unwritten += states
        self._cursor = head.uid, head.pointer

    def reach(self, version: int = sys.maxsize) -> bool:
        """Write the states that a decision on this version needs. Return whether a reader of the file can reach this
        version: not if it precedes the last whole state or is unknown, or MAX_VERSIONS later versions were written."""
        while self._unwritten:
            state = self._unwritten[0]
            # A reader forgets the states before a whole state.
            if state.version > version + (0 if state.is_whole else MAX_LATER):
                break
            self._write(self._unwritten.popleft())
            self._last = state.version
            if state.is_whole:
                self._first = state.version
        return self._first <= version <= self._last < version + MAX_VERSIONS

    def _states_since(self, uid: str, pointer: Pointer) -> list[State] | None:
        """Return the states after the cursor; None if one is malformed or may be missing."""
        known_uid, known = self._cursor or ("", pointer)
        if known_uid != uid or known.version < pointer.compacted_version:
            return None
        items = read_log(self._table, uid, LogPosition(known.version, known.newest), pointer.newest)
        try:
            return None if items is None else [State(each.version, list(unpack([each.data])), False) for each in items]
        except CorruptItem:
            return None

    def _begin(self) -> None:
        """Read the whole state."""
        reader, head = NodeCacheReader(self._table, ObjectsView(), time.sleep), self._table.head()
        try:
            objects = reader.at(head)
        except NothingPublished:
            return
        if head is None or head.pointer is None or reader.version != head.pointer.version:
            return  # the head changed meanwhile: the next read tries again
        changes = [Change(resource, key, obj) for (resource, key), obj in objects.items()]
        self._unwritten.append(State(reader.version, changes, is_whole=True))
        self._cursor = head.uid, head.pointer


class DecisionRecording(DecisionRecorder):
    """Records decisions in a thread, which starts at once. Close it to finish the file."""

    def __init__(
        self,
        writer: RecordingWriter,
        table: CacheTable,
        document_of: Callable[[str], BerthConfiguration],
        wall: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """Start the thread. document_of: returns the configuration with this hash; raises ConfigurationInvalid and
        TableUnavailable. wall: returns the seconds since the epoch. warn: called with the first failure, which ends the
        recording."""
        self._writer, self._states, self._document_of = writer, StateLog(table, writer.write), document_of
        self._wall, self._warn = wall, warn
        self._waiting: Queue[tuple[float, str, Outcome, Decision]] = Queue(MAX_WAITING)
        self._lock, self._wake, self._looked, self._closing = Lock(), Event(), Event(), Event()
        self._policies: set[str] = set()
        self._written = self._dropped = self._noted = 0
        self._has_failed = False
        self._thread = Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        # In full mode the state is in the request, not in the node cache.
        if not isinstance(decision, Decision) or not decision.cache.version or not _is_repeatable(decision, outcome):
            return
        try:
            if self._has_failed:
                raise Full
            self._waiting.put_nowait((self._wall(), verb, outcome, decision))
        except Full:
            with self._lock:
                self._dropped += 1

    def close(self) -> None:
        """Write the waiting decisions, and finish the file."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        if self._has_failed:
            self._warn(f"the recording lacks its end: {self._dropped} decisions are not in it")

    def read_state(self) -> None:
        """Read the currently published state: the first decisions on it may be made before the thread's next read."""
        self._looked.clear()
        self._wake.set()
        self._looked.wait(SECONDS)

    def wait_until_written(self) -> None:
        """Wait until every decision that was made so far is written or dropped."""
        self._wake.set()
        self._waiting.join()

    @property
    def results(self) -> Mapping[str, int]:
        """The numbers of decisions that were written and dropped."""
        return {"written": self._written, "dropped": self._dropped}

    def _run(self) -> None:
        self._write_all()
        while not self._closing.is_set():
            self._wake.wait(SECONDS)
            self._wake.clear()
            self._write_all()
            self._looked.set()
        self._write_all()
        self._try(self._writer.close)

    def _write_all(self) -> None:
        waiting = self._waiting.qsize()
        # Read the state after counting the waiting decisions, so that their states are already published.
        self._try(self._states.read)
        for _ in range(waiting):
            is_written = self._try(partial(self._write, *self._waiting.get_nowait()))
            with self._lock:
                self._written += is_written
                self._dropped += not is_written
            self._waiting.task_done()
            if not self._closing.is_set():
                time.sleep(PAUSE_SECONDS)
        if self._waiting.empty():
            self._try(self._states.reach)
        dropped, self._noted = self._dropped - self._noted, self._dropped
        if dropped:
            self._try(partial(self._writer.write, Gap(dropped)))
        if waiting:
            self._try(self._writer.flush)

    def _try(self, step: Callable[[], bool | None]) -> bool:
        """Run the step, unless an earlier step failed. Return whether the step returned True; False after a failure."""
        try:
            return not self._has_failed and step() is True
        except Exception as error:
            self._has_failed = True
            self._warn(f"the recording has ended: {type(error).__name__}: {error}")
            return False

    def _write(self, at: float, verb: str, outcome: Outcome, decision: Decision) -> bool:
        """Write the decision; return whether its state and policy are known."""
        cache = decision.cache
        is_known = self._knows_policy(cache.configuration_hash) and self._states.reach(cache.version)
        if is_known:
            numbers, new = self._writer.numbered(decision.nodes.names)
            self._writer.write(_line(at, verb, outcome, decision, numbers, new))
        return is_known

    def _knows_policy(self, applied: str) -> bool:
        if applied not in self._policies:
            try:
                document = self._document_of(applied)
            except (ConfigurationInvalid, TableUnavailable):
                return False
            self._writer.write(AppliedPolicy(applied, document.model_dump(mode="json", by_alias=True)))
            self._policies.add(applied)
        return True


def _is_repeatable(decision: Decision, outcome: Outcome) -> bool:
    """Return whether the verb would decide the same on the same state: timeouts depend on the machine."""
    if decision.scores is not None or outcome is FilterOutcome.EXEMPT:
        return True
    return decision.verdicts is not None and outcome is not FilterOutcome.TOO_COSTLY


def _line(
    at: float, verb: str, outcome: Outcome, decision: Decision, numbers: Sequence[int], new: Sequence[str]
) -> DecisionLine:
    cache, scores, pod = decision.cache, decision.scores, pod_document(decision.pod)
    made = digest_of_verdicts(decision.verdicts, decision.chosen) if scores is None else digest(*scores)
    assumed, gangs = _assumed_pods(decision.snapshot), tuple(decision.open_gangs)
    applied = cache.configuration_hash
    return DecisionLine(at, verb, str(outcome), cache.version, applied, pod, numbers, new, assumed, made, gangs)


def _assumed_pods(snapshot: Snapshot) -> list[AssumedRow]:
    """Return the pods in bind: namespace, name, UID, node, shares, and the pod if the state lacks it."""
    found: list[AssumedRow] = []
    for node, pods in snapshot.assumed.items():
        for pod in pods:
            known = pod.uid in snapshot.base.unbound or not pod.spec.source
            obj = None if known else pod_document(pod)
            found.append((pod.namespace, pod.name, pod.uid, node, pod.assumed_shares, obj))
    return found
