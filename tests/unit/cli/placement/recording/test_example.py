"""The recording in examples/recording, made with a kube-scheduler: every later release decides the same."""

from __future__ import annotations

from berth_cli.placement.recording.format import read_recording
from berth_cli.placement.recording.replay import RecordedDecisions
from tests.conftest import PROJECT
from tests.unit.cli.placement.recording.recorded import replay

RECORDING = PROJECT / "examples" / "recording" / "monday.rec"
VERBS = {"filter": 24, "prioritize": 22}  # kube-scheduler does not score a single node
PODS = 24


def test_replay_of_the_example_repeats_every_decision() -> None:
    recorded = RecordedDecisions(read_recording(RECORDING))
    found = replay(recorded)
    assert (found.decisions, len(found.pods), found.differing) == (sum(VERBS.values()), PODS, 0)
    assert [*recorded.notes] == []
