"""The recorder that the configuration names; where it names none, that of the surroundings."""

from __future__ import annotations

from collections.abc import Mapping

from berth.extender.decision import Decision, DecisionRecorder
from berth.extender.outcomes import Outcome
from berth.scheduling.configuration.decisions import Decisions


class RecorderByConfiguration(DecisionRecorder):
    """It asks the configuration in force at each decision, so that an applied one counts at once."""

    def __init__(self, recorders: Mapping[Decisions, DecisionRecorder], default: Decisions) -> None:
        """recorders: those that there are; decisions for others are not recorded."""
        self._recorders, self._default = recorders, default

    def record(self, verb: str, outcome: Outcome, decision: Decision, milliseconds: float) -> None:
        recorder = self._recorders.get(decision.cache.decisions or self._default)
        if recorder is not None:
            recorder.record(verb, outcome, decision, milliseconds)
