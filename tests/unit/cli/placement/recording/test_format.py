"""The format of a recording: it is read back as written, and an invalid file is reported in one line."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from berth.nodecache.feed.changes import Change
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth_cli.placement.recording.format import (
    AppliedPolicy,
    DecisionLine,
    Gap,
    Header,
    Line,
    RecordingWriter,
    State,
    read_recording,
)
from berth_cli.terminal.input_files import InvalidInput

HEADER = Header(1_800_000_000.0, "1.2.3")
STATE = State(4, [Change("nodes", "a", {"metadata": {"name": "a"}}), Change("nodes", "b", None)], is_whole=True)
POLICY = AppliedPolicy("", {"profile": "full"})
DECISION = DecisionLine(
    5.25,
    "filter",
    "feasible",
    4,
    "",
    {"metadata": {"name": "p"}},
    nodes=[1, 0],
    new_names=["a", "b"],
    assumed=[],
    digest="d",
)


def written(path: Path, *lines: Line) -> Path:
    writer = RecordingWriter(path, HEADER)
    for line in lines:
        writer.write(line)
    writer.close()
    return path


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([STATE, State(5, [Change("pods", "ml/p", {"spec": {}})], is_whole=False)], id="states"),
        pytest.param([POLICY], id="a policy"),
        pytest.param([DECISION], id="a decision"),
        pytest.param([replace(DECISION, assumed=[("ml", "q", "u", "a", {"gpu": 1}, None)])], id="pod in its bind"),
        pytest.param(
            [replace(DECISION, open_gangs=(OpenGang(GangKey("ml", "train"), 5, {"u": "a"}, True),)), DECISION],
            id="a gang that is being bound",
        ),
        pytest.param([Gap(3)], id="dropped decisions"),
    ],
)
def test_reads_back_the_recording_as_written(tmp_path: Path, lines: Sequence[Line]) -> None:
    assert list(read_recording(written(tmp_path / "r", *lines))) == [HEADER, *lines]


def test_header_records_whether_the_states_have_all_fields(tmp_path: Path) -> None:
    header = replace(HEADER, has_all_fields=True)
    RecordingWriter(tmp_path / "r", header).close()
    assert list(read_recording(tmp_path / "r")) == [header]


def test_does_not_overwrite_an_existing_recording(tmp_path: Path) -> None:
    written(tmp_path / "r")
    with pytest.raises(FileExistsError):
        RecordingWriter(tmp_path / "r", HEADER)


def test_truncated_recording_contains_the_flushed_lines(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "r", HEADER)
    writer.write(POLICY)
    writer.flush()
    writer.write(DECISION)
    content = (tmp_path / "r").read_bytes()
    (tmp_path / "killed").write_bytes(content)
    writer.close()
    assert list(read_recording(tmp_path / "killed")) == [HEADER, POLICY, Gap()]


FIRST = {"kind": "header", "version": 2, "time": 1, "release": "1"}


def raw(*lines: object) -> bytes:
    return gzip.compress(b"".join(orjson.dumps(line) + b"\n" for line in lines))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "is empty: the process that wrote it was killed at once; record again", id="empty"),
        pytest.param(b"kind: List", "is no recording: berth serve --record FILE writes one", id="another file"),
        pytest.param(
            raw({"kind": "state", "version": 1, "changes": [], "is_whole": True}),
            "is no recording: berth serve --record FILE writes one",
            id="no header",
        ),
        pytest.param(
            raw({**FIRST, "version": 9}),
            "has format 9, not 2: berth serve --record FILE writes one",
            id="another version",
        ),
        pytest.param(
            raw(FIRST, {"kind": "state", "version": 1, "changes": [[1]], "is_whole": True}),
            "a line of the recording cannot be read",
            id="another form",
        ),
    ],
)
def test_invalid_recording_is_reported_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        list(read_recording(path))
    assert message in raised.value.message
    assert "\n" not in raised.value.message
