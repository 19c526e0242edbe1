"""Records the decisions of a `berth serve`, with the states that they are made on, into a file.

A call hands on references and goes on. A thread follows the node cache version by version and writes. A decision whose
state is gone by then is dropped, and so is one for which there is no room; the recording says how many. A failure to
write, such as a full disk, ends the recording, and no call notices it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Condition, Event, Thread
from typing import NamedTuple

from berth.configuration.store import ConfigurationInvalid
from berth.decisions.repeatable import assumed_pods, gang_rows, pod_document
from berth.dynamodb_errors import TableUnavailable
from berth.extender.decision import AnyDecision, Decision, DecisionRecorder
from berth.extender.outcomes import FilterOutcome, Outcome
from berth.nodecache.feed.table import CacheTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.recording.digest import digest_of_scores, digest_of_verdicts
from berth_cli.recording.format import (
    AppliedPolicy,
    DecisionLine,
    RecordingWriter,
    assumed_lines,
    open_gang_lines,
)
from berth_cli.recording.state_log import StateLog

MOST_WAITING = 2_000
"""Decisions that wait to be written."""

MOST_NODES = 1_000_000
"""In all decisions that wait: each refers to the names of its request, which take about 100 bytes each."""

SECONDS = 0.25
"""How often the thread writes what waits. Calls do not wake it: it would take the processor while their answers are
being sent."""

PAUSE_SECONDS = 0.0005
"""After each decision: a call that came meanwhile goes first."""

FLUSH_SECONDS = 5.0


class _Waiting(NamedTuple):
    at: float
    verb: str
    outcome: Outcome
    decision: Decision


class DecisionRecording(DecisionRecorder):
    """Starts its thread at once; close it to finish the file."""

    def __init__(
        self,
        writer: RecordingWriter,
        table: CacheTable,
        document_of: Callable[[str], BerthConfiguration],
        wall: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """document_of: the configuration by its hash; it raises ConfigurationInvalid and TableUnavailable. wall:
        seconds since the epoch. warn: gets the first failure, which ends the recording."""
        self._writer, self._states, self._document_of = writer, StateLog(table, writer.state), document_of
        self._wall, self._warn = wall, warn
        self._waiting: deque[_Waiting] = deque()
        self._lock, self._wake = Condition(), Event()
        self._decisions = self._nodes = 0
        self._is_closing = self._has_failed = False
        self._policies: set[str] = set()
        self._written = self._dropped = self._noted = 0
        self._flushed_at = 0.0
        self._thread = Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        # In full mode the request is the state.
        if not isinstance(decision, Decision) or not decision.cache.version:
            return
        if decision.scores is None and not _is_repeatable(decision, outcome):
            return
        found = _Waiting(self._wall(), verb, outcome, decision)
        nodes = len(decision.nodes)
        with self._lock:
            if self._has_failed or self._decisions >= MOST_WAITING or self._nodes + nodes > MOST_NODES:
                self._dropped += 1
                return
            self._decisions += 1
            self._nodes += nodes
            self._waiting.append(found)

    def close(self) -> None:
        """Write what waits, and finish the file."""
        self._is_closing = True
        self._wake.set()
        self._thread.join()
        if self._has_failed:
            self._warn(f"the recording lacks its end: {self._dropped} decisions are not in it")

    def wait_until_written(self) -> None:
        """Until every decision so far is in the file, or dropped."""
        self._wake.set()
        with self._lock:
            self._lock.wait_for(lambda: not self._decisions)

    @property
    def results(self) -> Mapping[str, int]:
        """How many decisions are in the file, and how many are not."""
        return {"written": self._written, "dropped": self._dropped}

    def _run(self) -> None:
        try:
            self._write_all()
            while not self._is_closing:
                self._wake.wait(SECONDS)
                self._wake.clear()
                self._write_all()
            self._write_all()
            self._writer.close()
        except Exception as error:
            with self._lock:
                self._has_failed = True
                self._dropped += self._decisions
                self._decisions = self._nodes = 0
                self._waiting.clear()
                self._lock.notify_all()
            self._warn(f"the recording has ended: {type(error).__name__}: {error}")

    def _write_all(self) -> None:
        waiting = len(self._waiting)
        # After these decisions: what they were made on is published by now.
        self._states.read()
        for _ in range(waiting):
            self._write(self._waiting.popleft())
            if not self._is_closing:
                time.sleep(PAUSE_SECONDS)
        if not self._waiting:
            self._states.follow()
        dropped, self._noted = self._dropped - self._noted, self._dropped
        if dropped:
            self._writer.dropped(dropped)
        if self._wall() - self._flushed_at >= FLUSH_SECONDS:
            self._flushed_at = self._wall()
            self._writer.flush()

    def _write(self, found: _Waiting) -> None:
        decision = found.decision
        is_known = self._knows_policy(decision.cache.configuration_hash) and self._states.reach(decision.cache.version)
        if is_known:
            self._writer.decision(_line(found, self._writer.name_of(decision.chosen)))
        with self._lock:
            self._decisions -= 1
            self._nodes -= len(decision.nodes)
            self._written += is_known
            self._dropped += not is_known
            self._lock.notify_all()

    def _knows_policy(self, applied: str) -> bool:
        if applied not in self._policies:
            try:
                document = self._document_of(applied)
            except (ConfigurationInvalid, TableUnavailable):
                return False
            policy = AppliedPolicy(applied, document.model_dump(mode="json", by_alias=True))
            self._policies.add(applied)
            if self._writer.policy(policy):
                self._states.begin_anew()
                self._states.read()
        return True


def _is_repeatable(decision: Decision, outcome: Outcome) -> bool:
    """Whether filter decides the same again on the same state: what takes too long depends on the machine."""
    if outcome is FilterOutcome.TOO_COSTLY:
        return False
    return decision.verdicts is not None or outcome is FilterOutcome.EXEMPT


def _line(found: _Waiting, chosen: str) -> DecisionLine:
    decision = found.decision
    if decision.scores is None:
        digest = digest_of_verdicts(decision.verdicts, chosen)
    else:
        digest = digest_of_scores(decision.scores)
    return DecisionLine(
        found.at,
        found.verb,
        str(found.outcome),
        decision.cache.version,
        decision.cache.configuration_hash,
        pod_document(decision.pod),
        decision.nodes.names,
        assumed_lines(assumed_pods(decision.snapshot)),
        digest,
        open_gang_lines(gang_rows(decision.open_gangs)),
    )
