"""The last decisions of a process, in memory. `berth serve` answers them; nothing is written.

What it may keep is limited three ways: by the number of records, by the number of nodes in them, and by the number of
node lists: in full mode each request brings its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from berth.decisions.call_record import CallRecord
from berth.decisions.record import Record
from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
from berth.extender.outcomes import Outcome
from berth.scheduling.snapshot.snapshot import Snapshot

MOST_RECORDS = 1000
MOST_NODES = 2_000_000
"""In all records together. A node takes two bytes of a record: 4 MB, and 400 records of 5,000 nodes."""

MOST_NODE_LISTS = 16
"""Counted where a record has another list than the one before it."""

MOST_SNAPSHOTS = 4
"""So many decisions keep the state that their scores by plugin are computed from."""


class RecentDecisions(DecisionRecorder):
    """The newest records. Recording one takes the same time however many there are."""

    def __init__(
        self, wall: Callable[[], float], most_records: int = MOST_RECORDS, most_nodes: int = MOST_NODES
    ) -> None:
        """wall: seconds since the epoch."""
        self._wall, self._most_records, self._most_nodes = wall, most_records, most_nodes
        self._records: deque[Record] = deque()
        self._calls: deque[CallRecord] = deque(maxlen=most_records)
        self._nodes = 0
        self._node_lists = 0
        self._snapshots: deque[Snapshot] = deque(maxlen=MOST_SNAPSHOTS)
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
                or self._node_lists > MOST_NODE_LISTS
            ):
                self._drop()

    def all(self) -> list[Record]:
        """The records of decisions about nodes, the oldest first."""
        with self._lock:
            return list(self._records)

    def calls(self) -> list[CallRecord]:
        """The records of preempt, of bind and of failed calls, the oldest first. They drop no other records."""
        with self._lock:
            return list(self._calls)

    def _drop(self) -> None:
        oldest = self._records.popleft()
        self._nodes -= oldest.nodes
        if not self._records or self._records[0].source is not oldest.source:
            self._node_lists -= 1
