"""Recorders of decisions: one keeps the last ones in memory, one writes them to a table or a file in a thread.

A call hands its decision on as it is. The thread looks for decisions from time to time, and no call wakes it: it would
take the interpreter's lock before the answer is sent. In Lambda it stands still between two calls, so it works while
the next call waits for the table.

Not guaranteed: that every decision is written. So many a second are, and those that left a pod without a node come
first. What is not written when an environment ends is lost.

The memory is limited by the number of records, of nodes in them, and of node lists: in full mode each request brings
its own.

They expire by the table's TTL, and are lost with the table: nothing depends on them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

import orjson

from berth.decisions.document import call_document, document, with_every_node
from berth.decisions.record import CallRecord, Record
from berth.dynamodb import TableUnavailable, cache_table_errors
from berth.extender.outcomes import FailureOutcome, FilterOutcome, Outcome
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder
from berth.scheduling.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

MAX_A_SECOND = 10
"""Limits one verb in one environment: a write takes half a millisecond of processor time."""

MAX_WAITING = 100
"""A decision keeps its request, which takes half a megabyte with 5,000 nodes."""

PAUSE_SECONDS = 0.05
"""The interval at which waiting decisions are written."""

Write = Callable[[Mapping[str, object]], None]
"""Writes the document of a record. What it raises is logged once; the next record is tried all the same."""

PENDING_OUTCOMES: frozenset[Outcome] = frozenset({FilterOutcome.NONE_FEASIBLE, FilterOutcome.TOO_COSTLY})


class _Recorded(NamedTuple):
    """The decision that a call hands to the thread. at: seconds since the epoch."""

    verb: str
    outcome: Outcome
    decision: AnyDecision
    at: float
    milliseconds: float

    def record(self) -> Record | CallRecord:
        if isinstance(self.decision, Decision):
            return Record.of(self.verb, self.outcome, self.decision, self.at, self.milliseconds)
        return CallRecord.of(self.verb, self.outcome, self.decision, self.at, self.milliseconds)


class BackgroundRecorder(DecisionRecorder):
    """The thread starts with the first record, and ends with the process."""

    def __init__(
        self,
        write: Write,
        wall: Callable[[], float],
        warn: Callable[[str], None],
        most_a_second: int = MAX_A_SECOND,
        *,
        every_node: bool = False,
    ) -> None:
        """wall: seconds since the epoch. warn: gets the first failure. most_a_second: of decisions that left the pod a
        node; of the others as many more. every_node: whether a document has the verdict on every node.
        """
        self._write, self._wall, self._warn = write, wall, warn
        self._most, self._every_node = most_a_second, every_node
        self._second, self._in_second = 0, {True: 0, False: 0}
        self._waiting: deque[_Recorded] = deque()
        self._closing = Event()
        self._thread: Thread | None = None
        self._starting = Lock()
        self._has_warned = False

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        now = self._wall()
        if not self._has_room(int(now), outcome) or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting.append(_Recorded(verb, outcome, decision, now, milliseconds))
        if self._thread is None:
            self._start()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _document(self, record: Record | CallRecord) -> Mapping[str, object]:
        if isinstance(record, CallRecord):
            return call_document(record)
        if self._every_node:
            return with_every_node(record)
        return document(record, record.names())

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
            try:
                self._write(self._document(found.record()))
            except Exception as error:
                if not self._has_warned:
                    self._has_warned = True
                    self._warn(f"decisions are not recorded: {type(error).__name__}: {error}")


MAX_RECORDS = 1000
MAX_NODES = 2_000_000
"""The limit of all records together. A node takes two bytes of a record: 4 MB, and 400 records of 5,000 nodes."""

MAX_NODE_LISTS = 16
"""The limit of lists; a list counts if a record has another list than the previous record."""

MAX_SNAPSHOTS = 4
"""The number of decisions that keep the state from which their scores by plugin are computed."""


class RecentDecisions(DecisionRecorder):
    """The newest records. Recording one takes the same time however many there are."""

    def __init__(self, wall: Callable[[], float], most_records: int = MAX_RECORDS, most_nodes: int = MAX_NODES) -> None:
        """wall: seconds since the epoch."""
        self._wall, self._most_records, self._most_nodes = wall, most_records, most_nodes
        self._records: deque[Record] = deque()
        self._calls: deque[CallRecord] = deque(maxlen=most_records)
        self._nodes = 0
        self._node_lists = 0
        self._snapshots: deque[Snapshot] = deque(maxlen=MAX_SNAPSHOTS)
        self._lock = Lock()

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if not isinstance(decision, Decision):
            with self._lock:
                self._calls.append(CallRecord.of(verb, outcome, decision, self._wall(), milliseconds))
            return
        with self._lock:
            last = self._records[-1] if self._records else None
            record = Record.of(verb, outcome, decision, self._wall(), milliseconds, last)
            self._records.append(record)
            self._snapshots.append(decision.snapshot)
            self._nodes += record.nodes
            if last is None or record.source is not last.source:
                self._node_lists += 1
            while (
                len(self._records) > self._most_records
                or self._nodes > self._most_nodes
                or self._node_lists > MAX_NODE_LISTS
            ):
                self._drop()

    def all(self) -> list[Record]:
        """Return the records of decisions about nodes, the oldest first."""
        with self._lock:
            return list(self._records)

    def calls(self) -> list[CallRecord]:
        """Return the records of preempt, bind and failed calls, the oldest first. They displace only each other."""
        with self._lock:
            return list(self._calls)

    def _drop(self) -> None:
        oldest = self._records.popleft()
        self._nodes -= oldest.nodes
        if not self._records or self._records[0].source is not oldest.source:
            self._node_lists -= 1


PARTITION_PREFIX = "decision#"
KEPT_SECONDS = 7 * 24 * 3600.0


class DynamoDBDecisionTable:
    """Stateless; the client may be shared between threads. Every method raises TableUnavailable."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = cache_table_errors(table_name)

    def put(self, document: Mapping[str, object]) -> None:
        """Store a record. One of the same pod and microsecond is replaced."""
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
        """Return the newest records of the pod, as they were stored, the oldest first. One read."""
        with self._errors.errors():
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="pk = :pod",
                ExpressionAttributeValues={":pod": {"S": f"{PARTITION_PREFIX}{namespace}/{name}"}},
                ScanIndexForward=False,
                Limit=most,
            )
        try:
            return [orjson.loads(item["record"]["S"]) for item in reversed(answer["Items"])]
        except (KeyError, ValueError) as error:
            raise TableUnavailable(f"node cache table {self._table}: a record is malformed ({error})") from error
