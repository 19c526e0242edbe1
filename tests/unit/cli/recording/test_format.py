"""The format of a recording: what is written is read again, and one line for what cannot be."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import orjson
import pytest

from berth.nodecache.feed.changes import Change
from berth_cli.input_files import InvalidInput
from berth_cli.recording.format import (
    AppliedPolicy,
    AssumedPodLine,
    DecisionLine,
    Header,
    Line,
    OpenGangLine,
    RecordingWriter,
    State,
    Truncated,
    UnrecordedDecisions,
    read_recording,
)

HEADER = Header(1_800_000_000.0, "1.2.3")
STATE = State(4, [Change("nodes", "a", {"metadata": {"name": "a"}}), Change("nodes", "b", None)], is_whole=True)
POLICY = AppliedPolicy("", {"profile": "full"})


def decision(nodes: Sequence[str], assumed: Sequence[AssumedPodLine] = ()) -> DecisionLine:
    return DecisionLine(5.25, "filter", "feasible", 4, "", {"metadata": {"name": "p"}}, list(nodes), list(assumed), "d")


def written(path: Path, *lines: Line) -> Path:
    writer = RecordingWriter(path, HEADER)
    for line in lines:
        match line:
            case State():
                writer.state(line)
            case AppliedPolicy():
                writer.policy(line)
            case DecisionLine():
                writer.decision(line)
            case UnrecordedDecisions():
                writer.dropped(line.decisions)
    writer.close()
    return path


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([STATE, State(5, [Change("pods", "ml/p", {"spec": {}})], is_whole=False)], id="states"),
        pytest.param([POLICY], id="a policy"),
        pytest.param([decision(["a", "b", "c"]), decision(["c", "a", "b"]), decision([])], id="nodes in any order"),
        pytest.param([decision(["a"]), decision(["new", "a", "new-2"])], id="nodes that come later"),
        pytest.param(
            [decision(["a"], [AssumedPodLine("ml", "q", "u", "a", {"gpu": 1}, None)])], id="a pod that is being bound"
        ),
        pytest.param(
            [replace(decision(["a"]), open_gangs=(OpenGangLine("ml", "train", 5, {"u": "a"}, True),)), decision(["a"])],
            id="a gang that is being bound",
        ),
        pytest.param([UnrecordedDecisions(3)], id="dropped decisions"),
    ],
)
def test_reads_what_was_written(tmp_path: Path, lines: Sequence[Line]) -> None:
    assert list(read_recording(written(tmp_path / "r", *lines))) == [HEADER, *lines]


@pytest.mark.parametrize("header", [replace(HEADER, has_pseudonyms=True), replace(HEADER, has_all_fields=True)])
def test_the_header_says_what_the_names_and_the_fields_are(tmp_path: Path, header: Header) -> None:
    RecordingWriter(tmp_path / "r", header).close()
    assert list(read_recording(tmp_path / "r")) == [header]


def test_names_of_nodes_are_written_once(tmp_path: Path) -> None:
    names = [f"node-{number}" for number in range(100)]
    path = written(tmp_path / "r", *(decision([*names[start:], *names[:start]]) for start in range(50)))
    assert gzip.decompress(path.read_bytes()).count(b"node-42") == 1


def test_nodes_in_no_order_are_numbers_and_not_many_ranges(tmp_path: Path) -> None:
    """kube-scheduler filters in several threads, which overtake each other."""
    names = [f"node-{number}" for number in range(1000)]
    shuffled = Random(7).sample(names, len(names))
    path = written(tmp_path / "r", decision(names), decision(shuffled), decision(names[500:] + names[:500]))
    _, _, whole, numbers, ranges = (orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
    assert (whole[7], ranges[7]) == ([[0, 1000]], [[500, 500], [0, 500]])
    assert numbers[7] == [names.index(name) for name in shuffled]
    assert [each.nodes for each in read_recording(path) if isinstance(each, DecisionLine)][1] == shuffled


def test_a_truncated_recording_has_the_lines_that_were_flushed(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", HEADER)
    writer.policy(POLICY)
    writer.flush()
    writer.decision(decision(["a"]))
    content = (tmp_path / "r").read_bytes()
    (tmp_path / "killed").write_bytes(content)
    writer.close()
    assert list(read_recording(tmp_path / "killed")) == [HEADER, POLICY, Truncated()]


FIRST = {"format": "berth-recording", "version": 1, "time": 1, "release": "1"}


def raw(*lines: object) -> bytes:
    return gzip.compress(b"".join(orjson.dumps(line) + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty: the process that wrote it was killed at once; record again", id="empty"),
        pytest.param(b"kind: List", "is no recording: berth serve --record FILE writes one", id="another file"),
        pytest.param(raw(["state", 1, []]), "is no recording: berth serve --record FILE writes one", id="no header"),
        pytest.param(
            raw(["header", {**FIRST, "version": 2, "release": "9.0"}]),
            "has format 2, and this berth reads 1: install release 9.0 or later",
            id="a later version",
        ),
        pytest.param(
            raw(
                ["header", {"format": "berth-recording", "version": 1, "time": 1, "release": "1"}], ["state", 1, [[1]]]
            ),
            "a line of the recording cannot be read",
            id="another form",
        ),
    ],
)
def test_bad_recordings_are_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        list(read_recording(path))
    assert message in raised.value.message
    assert "\n" not in raised.value.message
