"""Recordings of the real verbs on a node cache in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from berth.configuration.store import Configurations
from berth.extender.outcomes import Outcome
from berth.extender.ports import OpenGangs, no_open_gangs
from berth.extender.reply import AnyDecision, DecisionRecorder
from berth.ledger.nodes.table import LedgerTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.policy import Policy
from berth_cli.placement.recording.format import Header, RecordingWriter
from berth_cli.placement.recording.recorder import DecisionRecording
from berth_cli.placement.recording.replay import RecordedDecisions
from tests.fakes.verbs import Verbs


class _Later(DecisionRecorder):
    """Passes decisions to a recorder that is set later: the verbs need one before there is a table to follow.

    Each decision is written before the next call, so that the decision's state still exists.
    """

    recorder: DecisionRecording

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        self.recorder.record(verb, outcome, decision, milliseconds)
        self.recorder.wait_until_written()


def recording(
    path: Path,
    play: Callable[[Verbs], object],
    document: Mapping[str, Any] | None = None,
    ledger: LedgerTable | None = None,
    open_gangs: OpenGangs = no_open_gangs,
    time_limit: TimeLimit = NO_TIME_LIMIT,
    *,
    has_all_fields: bool = False,
) -> list[str]:
    """Record the decisions while `play` runs; return the warnings."""
    configuration = BerthConfiguration.model_validate(document or {})
    later, warnings = _Later(), list[str]()
    verbs = Verbs(
        [], configuration=configuration, ledger=ledger, recorder=later, open_gangs=open_gangs, time_limit=time_limit
    )
    writer = RecordingWriter(path, Header(1_800_000_000.0, "1.2.3", has_all_fields=has_all_fields))
    configurations = Configurations(verbs.store, lambda: configuration)
    recorder = DecisionRecording(
        writer,
        verbs.table,
        lambda applied: configurations.at(applied).document,
        lambda: 1_800_000_001.0,
        warnings.append,
    )
    later.recorder = recorder
    play(verbs)
    recorder.close()
    return warnings


@dataclass(slots=True)
class Replay:
    """decisions: how many were repeated. later: how many of them had the same result on a later state than the recorded
    state. differing: how many had another result. pods: the UIDs."""

    decisions: int = 0
    later: int = 0
    differing: int = 0
    pods: set[str] = field(default_factory=set)


def replay(recorded: RecordedDecisions) -> Replay:
    """Repeat all decisions with the recorded policies."""
    found, policies = Replay(), dict[str, Policy]()
    for each in recorded:
        policy = policies.setdefault(each.line.configuration_hash, each.configuration.policy())
        found.decisions += 1
        found.pods.add(each.pod.uid)
        snapshot = each.repeated(policy)
        found.differing += snapshot is None
        found.later += snapshot is not None and snapshot.base is not each.snapshot.base
    return found
