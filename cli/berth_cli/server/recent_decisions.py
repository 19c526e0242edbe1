"""The last decisions, in memory.

The memory is limited by the number of records, of nodes in them, and of node lists: in full mode each request has its
own list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from berth.decisions.record import CallRecord, Record
from berth.extender.outcomes import Outcome
from berth.extender.reply import AnyDecision, Decision, DecisionRecorder
from berth.scheduling.snapshot.snapshot import Snapshot

MAX_RECORDS = 1000
MAX_NODES = 2_000_000
"""The maximum number of nodes in all records together. Each takes two bytes: 4 MB, for 400 records of 5,000 nodes."""

MAX_NODE_LISTS = 16
"""The maximum number of node lists; a list counts if it differs from the previous record's."""

MAX_SNAPSHOTS = 4
"""The number of decisions whose state is kept, to compute their scores by plugin."""


class RecentDecisions(DecisionRecorder):
    """Keeps the newest records. The time to add a record does not depend on their number."""

    def __init__(self, wall: Callable[[], float], most_records: int = MAX_RECORDS, most_nodes: int = MAX_NODES) -> None:
        """Begin without records. wall: returns the seconds since the epoch."""
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
        """Return the records of preempt, bind and failed calls, the oldest first. They do not displace records of other
        calls."""
        with self._lock:
            return list(self._calls)

    def _drop(self) -> None:
        oldest = self._records.popleft()
        self._nodes -= oldest.nodes
        if not self._records or self._records[0].source is not oldest.source:
            self._node_lists -= 1
