"""The file of records: one JSON object per line. A large file is renamed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth_cli.server.decisions_file import MAX_LISTS, DecisionsFile, decisions_file
from tests.builders.nodes import labelled, node
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs


def lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_text().splitlines()]


def names(path: Path) -> list[str]:
    return [line["name"] for line in lines(path) if "name" in line]


def test_appends_one_line_for_each_decision(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    for _ in range(2):
        with closing(decisions_file(path, pytest.fail)) as recorder:
            Verbs([labelled("a", "1")], recorder=recorder).ask("filter", cache_mode(["a"]))
    assert names(path) == ["train-0", "train-0"]


def test_renames_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    file = DecisionsFile(path, max_bytes=30)
    for name in ("a", "b", "c", "d", "e"):
        file.put({"name": name})
    assert (names(tmp_path / "decisions.jsonl.1"), names(path)) == (["c", "d"], ["e"])


def test_writes_each_node_list_once_and_one_bit_per_node(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    with closing(decisions_file(path, pytest.fail)) as recorder:
        verbs = Verbs([labelled("a", "1"), node("b"), node("c")], recorder=recorder)
        for asked in (["a", "b", "c"], ["c", "a"], ["a", "b", "c"]):
            verbs.ask("filter", cache_mode(asked))
    found = lines(path)
    assert [line["nodeNames"] for line in found if "nodeNames" in line] == [["a", "b", "c"], ["c", "a"]]
    records = [line for line in found if "name" in line]
    assert [(each["nodeList"], each["reasons"][0]["bitmap"]) for each in records] == [(1, "6"), (2, "1"), (1, "6")]


def test_every_file_contains_the_node_lists_of_its_records(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    file = DecisionsFile(path, max_bytes=70)
    for name in ("p", "q"):
        file.put({"name": name, "nodeNames": ["a", "b"]})
    for each in (path, tmp_path / "decisions.jsonl.1"):
        first, second = lines(each)
        assert (first["nodeNames"], second["nodeList"]) == (["a", "b"], first["nodeList"])


def test_writes_a_node_list_again_after_16_other_lists(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    file = DecisionsFile(path)
    for number in [*range(MAX_LISTS + 1), 0]:
        file.put({"name": "p", "nodeNames": [f"n{number}"]})
    written = [line["nodeNames"] for line in lines(path) if "nodeNames" in line]
    assert written == [[f"n{number}"] for number in [*range(MAX_LISTS + 1), 0]]
