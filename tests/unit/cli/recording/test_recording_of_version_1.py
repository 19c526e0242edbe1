"""A recording of format 1, written by `berth serve --record` beside a kube-scheduler: every later release reads it and
decides the same. It is never written anew; a later format gets a file of its own."""

from __future__ import annotations

from collections import Counter

from berth_cli.recording.format import DecisionLine, Header, State, read_recording
from berth_cli.recording.replay import RecordedDecisions, replay
from tests.conftest import PROJECT

RECORDING = PROJECT / "examples" / "replay" / "monday.rec"
VERBS = {"filter": 24, "prioritize": 22}  # kube-scheduler scores no only node
PODS, STATES = 24, 24
NODES = {"cpu-1", "cpu-2", "cpu-3", "gpu-1", "gpu-2"}
MOST_BYTES = 200_000


def test_has_the_lines_that_were_written() -> None:
    header, *lines = read_recording(RECORDING)
    assert isinstance(header, Header)
    assert (header.has_pseudonyms, header.has_all_fields, header.notes) == (False, False, ())
    assert Counter(line.verb for line in lines if isinstance(line, DecisionLine)) == VERBS
    assert sum(isinstance(line, State) for line in lines) == STATES
    assert {node for line in lines if isinstance(line, DecisionLine) for node in line.nodes} == NODES


def test_decisions_are_the_same_again() -> None:
    recorded = RecordedDecisions(read_recording(RECORDING))
    found = replay(recorded)
    assert (found.decisions, len(found.pods), found.differing) == (sum(VERBS.values()), PODS, 0)
    assert recorded.summary.notes == []


def test_is_small() -> None:
    assert RECORDING.stat().st_size < MOST_BYTES
