"""A recorder that writes decisions to a table or a file, in a background thread.

A call queues its decision unchanged. The thread polls the queue, and calls do not wake the thread, because it would
take the interpreter's lock before the answer is sent. In Lambda the thread is frozen between two calls, so it works
while the next call waits for the table.

Not guaranteed: that every decision is written. Writes are rate-limited, with a separate limit for decisions that left a
pod without a node. Decisions that are not written when an environment ends are lost.

Records expire by the table's TTL, and are lost with the table: Berth does not depend on them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

import orjson

from berth.decisions.document import call_document, document, with_every_node
from berth.decisions.record import CallRecord, Record
from berth.dynamodb import CacheTableAdapter
from berth.extender.outcomes import FailureOutcome, FilterOutcome, Outcome
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder

MAX_A_SECOND = 10
"""Maximum number of decisions written per second, for one verb in one environment: a write takes 0.5 ms of CPU time."""

MAX_WAITING = 100
"""Maximum number of queued decisions: each keeps its request, which takes half a megabyte with 5,000 nodes."""

PAUSE_SECONDS = 0.05
"""The interval at which waiting decisions are written."""

Write = Callable[[Mapping[str, object]], None]
"""Writes the document of a record. After an exception the next record is still written."""

PENDING_OUTCOMES: frozenset[Outcome] = frozenset({FilterOutcome.NONE_FEASIBLE, FilterOutcome.TOO_COSTLY})


class BackgroundRecorder(DecisionRecorder):
    """Writes records in a thread that starts with the first record, and ends with the process."""

    def __init__(
        self,
        write: Write,
        wall: Callable[[], float],
        warn: Callable[[str], None],
        most_a_second: int = MAX_A_SECOND,
        *,
        every_node: bool = False,
    ) -> None:
        """Create the recorder. wall: returns the seconds since the epoch. warn: called with the first of several
        failures, and with an empty text when records are written again. most_a_second: the limit for decisions that
        found a node, and separately for decisions that did not. every_node: whether a document has the verdict on every
        node.
        """
        self._write, self._wall, self._warn = write, wall, warn
        self._most, self._every_node = most_a_second, every_node
        self._second, self._in_second = 0, {True: 0, False: 0}
        self._waiting: deque[tuple[str, Outcome, AnyDecision, float, float]] = deque()
        self._closing = Event()
        self._thread: Thread | None = None
        self._starting = Lock()
        self._has_warned = False

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        now = self._wall()
        if not self._has_room(int(now), outcome) or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting.append((verb, outcome, decision, now, milliseconds))
        if self._thread is None:
            self._start()

    def close(self) -> None:
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _document(
        self, verb: str, outcome: Outcome, decision: AnyDecision, at: float, milliseconds: float
    ) -> Mapping[str, object]:
        if not isinstance(decision, Decision):
            return call_document(CallRecord.of(verb, outcome, decision, at, milliseconds))
        record = Record.of(verb, outcome, decision, at, milliseconds)
        return with_every_node(record) if self._every_node else document(record, record.names())

    def _has_room(self, second: int, outcome: Outcome) -> bool:
        if second != self._second:
            self._second, self._in_second = second, {True: 0, False: 0}
        is_pending = outcome in PENDING_OUTCOMES or isinstance(outcome, FailureOutcome)
        self._in_second[is_pending] += 1
        return self._in_second[is_pending] <= self._most

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="decisions", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(PAUSE_SECONDS):
            self._write_all()
        self._write_all()

    def _write_all(self) -> None:
        while self._waiting:
            found = self._waiting.popleft()
            problem = ""
            try:
                self._write(self._document(*found))
            except Exception as error:
                problem = f"decisions are not recorded: {type(error).__name__}: {error}"
            if bool(problem) is not self._has_warned:
                self._has_warned = bool(problem)
                self._warn(problem)


PARTITION_PREFIX = "decision#"
KEPT_SECONDS = 7 * 24 * 3600.0


class DynamoDBDecisionTable(CacheTableAdapter):
    """The table of decisions. Stateless; the client may be shared between threads. Methods raise TableUnavailable."""

    def put(self, document: Mapping[str, object]) -> None:
        """Store a record. It replaces a record of the same pod and millisecond."""
        at = document["time"]
        assert isinstance(at, float)
        with self._errors.errors():
            self._client.put_item(
                TableName=self._table,
                Item={
                    "pk": {"S": f"{PARTITION_PREFIX}{document['namespace']}/{document['name']}"},
                    "sk": {"N": str(int(at * 1_000_000))},
                    "record": {"S": orjson.dumps(document).decode()},
                    "expiresAt": {"N": str(int(at + KEPT_SECONDS))},
                },
            )

    def of_pod(self, namespace: str, name: str, most: int) -> list[object]:
        """Return the pod's newest records, as stored, sorted from oldest to newest. Makes one query."""
        with self._errors.errors():
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :pod",
                ExpressionAttributeValues={":pod": {"S": f"{PARTITION_PREFIX}{namespace}/{name}"}},
                ScanIndexForward=False,
                Limit=most,
            )
        with self._well_formed("a record"):
            return [orjson.loads(item["record"]["S"]) for item in reversed(answer["Items"])]
