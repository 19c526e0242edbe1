"""The recorder of decisions for the functions of this process: which one the configuration in force names."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import orjson

from berth.decisions.sampled_log import SampledLog
from berth.extender.decision import AnyDecision, DecisionRecorder, FailedCall
from berth.extender.outcomes import Outcome
from berth.runtime.telemetry.call_log import SERVICE
from berth.scheduling.configuration.decisions import Decisions

log = logging.getLogger(SERVICE)

_memory: ContextVar[DecisionRecorder | None] = ContextVar("decisions_in_memory", default=None)


class RecorderByConfiguration(DecisionRecorder):
    """It asks the configuration in force at each decision, so that an applied one counts at once."""

    def __init__(self, recorders: Mapping[Decisions, DecisionRecorder], default: Decisions) -> None:
        """recorders: those that there are; decisions for others are not recorded. default: for a configuration that
        names none."""
        self._recorders, self._default = recorders, default
        self._last = default

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        if type(decision) is not FailedCall:
            self._last = decision.cache.decisions or self._default
        # A call that failed knows no configuration: that of the call before counts.
        recorder = self._recorders.get(self._last)
        if recorder is not None:
            recorder.record(verb, outcome, decision, milliseconds)


@contextmanager
def decisions_kept_by(recorder: DecisionRecorder) -> Iterator[None]:
    """Functions that are loaded until the block ends keep their decisions there, unless the configuration says
    otherwise."""
    token = _memory.set(recorder)
    try:
        yield
    finally:
        _memory.reset(token)


def decision_recorder() -> DecisionRecorder:
    """For one verb. Without a memory of the process decisions go to the log."""
    memory = _memory.get()
    recorders: dict[Decisions, DecisionRecorder] = {Decisions.LOG: SampledLog(_write, time.time)}
    if memory is not None:
        recorders[Decisions.MEMORY] = memory
    return RecorderByConfiguration(recorders, Decisions.LOG if memory is None else Decisions.MEMORY)


def _write(document: dict[str, object]) -> None:
    """A line of its own, at the level of information."""
    if log.isEnabledFor(logging.INFO):
        line = {"level": "INFO", "message": "decision", "service": SERVICE, **document}
        print(orjson.dumps(line).decode())
