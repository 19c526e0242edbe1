"""Records the decisions of a `berth serve`, with the states that they are made on, into a file.

A call hands on references and goes on. A thread follows the node cache version by version and writes. A decision whose
state is gone by then is dropped, and so is one for which there is no room; the recording says how many.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, Full, Queue
from threading import Thread
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
"""Decisions that wait to be written. Each refers to its request's names and to its snapshot."""

SECONDS = 0.5
"""How long the thread waits for a decision before it follows the node cache without one."""

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
        self._waiting: Queue[_Waiting | None] = Queue(MOST_WAITING)
        self._policies: set[str] = set()
        self._dropped = 0
        self._flushed_at = 0.0
        self._thread = Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        # In full mode the request is the state.
        if not isinstance(decision, Decision) or not decision.cache.version:
            return
        if decision.scores is None and not _is_repeatable(decision, outcome):
            return
        try:
            self._waiting.put_nowait(_Waiting(self._wall(), verb, outcome, decision))
        except Full:
            self._dropped += 1

    def close(self) -> None:
        """Write what waits, and finish the file."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()

    def wait_until_written(self) -> None:
        """Until every decision so far is in the file, or dropped."""
        self._waiting.join()

    def _run(self) -> None:
        try:
            self._follow_until_closed()
            self._writer.close()
        except Exception as error:
            self._warn(f"the recording has ended: {type(error).__name__}: {error}")

    def _follow_until_closed(self) -> None:
        while True:
            try:
                found = self._waiting.get(timeout=SECONDS)
            except Empty:
                self._states.follow()
            else:
                if found is None:
                    return
                self._write(found)
                self._waiting.task_done()
            if self._wall() - self._flushed_at >= FLUSH_SECONDS:
                self._flushed_at = self._wall()
                self._writer.flush()

    def _write(self, found: _Waiting) -> None:
        decision = found.decision
        version = decision.cache.version
        knows_policy = self._knows_policy(decision.cache.configuration_hash)
        if knows_policy and not self._states.has(version):
            self._states.follow()
        if not knows_policy or not self._states.has(version):
            self._dropped += 1
        else:
            self._writer.decision(_line(found, self._writer.name_of(decision.chosen)))
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._writer.dropped(dropped)

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
