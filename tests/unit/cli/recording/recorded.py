"""Recordings of the real verbs on a node cache in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from berth.configuration.store import Configurations
from berth.extender.decision import AnyDecision, DecisionRecorder
from berth.extender.filter import NO_GANG_IS_OPEN
from berth.extender.outcomes import Outcome
from berth.extender.ports import OpenGangs
from berth.reservations.ledger.table import LedgerTable
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth_cli.recording.format import Header, RecordingWriter
from berth_cli.recording.pseudonymised import PseudonymisingWriter
from berth_cli.recording.pseudonyms import Pseudonyms
from berth_cli.recording.recorder import DecisionRecording
from tests.fakes.verbs import Verbs


class _Later(DecisionRecorder):
    """The verbs need a recorder before there is a table to follow.

    Each decision is written before the next call, so that its state cannot be gone by then.
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
    open_gangs: OpenGangs = NO_GANG_IS_OPEN,
    time_limit: TimeLimit = NO_TIME_LIMIT,
    pseudonyms: Pseudonyms | None = None,
    *,
    has_all_fields: bool = False,
) -> list[str]:
    """Record what happens while this is played; the warnings."""
    configuration = BerthConfiguration.model_validate(document or {})
    later, warnings = _Later(), list[str]()
    verbs = Verbs(
        [], configuration=configuration, ledger=ledger, recorder=later, open_gangs=open_gangs, time_limit=time_limit
    )
    header = Header(1_800_000_000.0, "1.2.3", has_all_fields=has_all_fields)
    writer = RecordingWriter(path, header) if pseudonyms is None else PseudonymisingWriter(path, header, pseudonyms)
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
