"""`decisions` of the configuration in force names the recorder, from one call to the next."""

from __future__ import annotations

from typing import Any

import pytest

from berth.extender.outcomes import Outcome
from berth.extender.reply import AnyDecision, DecisionRecorder
from berth.runtime.decisions import RecorderByConfiguration
from berth.scheduling.configuration.document import BerthConfiguration, Decisions
from tests.builders.nodes import labelled
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs


class Counting(DecisionRecorder):
    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def record(self, verb: str, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        self.outcomes.append(outcome)


@pytest.mark.parametrize(
    ("document", "memory", "log"),
    [
        pytest.param({}, 1, 0, id="the default of the surroundings"),
        pytest.param({"decisions": "memory"}, 1, 0, id="memory"),
        pytest.param({"decisions": "log"}, 0, 1, id="log"),
        pytest.param({"decisions": "off"}, 0, 0, id="off"),
        pytest.param({"decisions": False}, 0, 0, id="off, as some readers of YAML see it"),
    ],
)
def test_records_where_the_configuration_says(document: dict[str, Any], memory: int, log: int) -> None:
    kept, logged = Counting(), Counting()
    recorder = RecorderByConfiguration({Decisions.MEMORY: kept, Decisions.LOG: logged}, Decisions.MEMORY)
    configuration = BerthConfiguration.model_validate(document)
    Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder).ask("filter", cache_mode(["a"]))
    assert (len(kept.outcomes), len(logged.outcomes)) == (memory, log)


def test_records_nothing_where_the_recorder_is_missing() -> None:
    logged = Counting()
    recorder = RecorderByConfiguration({Decisions.LOG: logged}, Decisions.LOG)
    configuration = BerthConfiguration.model_validate({"decisions": "memory"})
    Verbs([labelled("a", "1")], configuration=configuration, recorder=recorder).ask("filter", cache_mode(["a"]))
    assert logged.outcomes == []
