"""The recording of examples/recording, made beside a kube-scheduler: every later release decides the same."""

from __future__ import annotations

from collections import Counter

from berth_cli.placement.recording.format import DecisionLine, Header, State, read_recording
from berth_cli.placement.recording.replay import RecordedDecisions
from tests.conftest import PROJECT
from tests.unit.cli.placement.recording.recorded import replay

RECORDING = PROJECT / "examples" / "recording" / "monday.rec"
VERBS = {"filter": 24, "prioritize": 22}  # kube-scheduler scores no only node
PODS, STATES = 24, 24
NODES = {"cpu-1", "cpu-2", "cpu-3", "gpu-1", "gpu-2"}
MAX_BYTES = 200_000


def test_has_the_lines_that_were_written() -> None:
    header, *lines = read_recording(RECORDING)
    assert isinstance(header, Header)
    assert not header.has_all_fields
    assert Counter(line.verb for line in lines if isinstance(line, DecisionLine)) == VERBS
    assert sum(isinstance(line, State) for line in lines) == STATES
    assert {name for line in lines if isinstance(line, DecisionLine) for name in line.new_names} == NODES


def test_decisions_are_the_same_again() -> None:
    recorded = RecordedDecisions(read_recording(RECORDING))
    found = replay(recorded)
    assert (found.decisions, len(found.pods), found.differing) == (sum(VERBS.values()), PODS, 0)
    assert [*recorded.notes] == []


def test_is_small() -> None:
    assert RECORDING.stat().st_size < MAX_BYTES
