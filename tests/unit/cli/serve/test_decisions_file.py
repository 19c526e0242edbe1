"""The file of records: a JSON object a line, renamed when it is large."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from berth_cli.serve.decisions_file import DecisionsFile, decisions_file
from tests.builders.nodes import labelled
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs


def names(path: Path) -> list[str]:
    return [orjson.loads(line)["name"] for line in path.read_text().splitlines()]


def test_appends_a_line_for_each_decision(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    for _ in range(2):
        with decisions_file(path, pytest.fail) as recorder:
            Verbs([labelled("a", "1")], recorder=recorder).ask("filter", cache_mode(["a"]))
    assert names(path) == ["train-0", "train-0"]


def test_renames_a_file_that_is_large(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    file = DecisionsFile(path, most_bytes=30)
    for name in ("a", "b", "c", "d", "e"):
        file.put({"name": name})
    assert (names(tmp_path / "decisions.jsonl.1"), names(path)) == (["c", "d"], ["e"])


def test_says_at_once_that_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"), decisions_file(tmp_path / "no" / "file", pytest.fail):
        pass
