"""The document of `berth policy test`: how it is read, and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from berth_cli.placement.policy.cases import find_test_files, read_test_file
from berth_cli.terminal.input_files import InvalidInput

HEAD: dict[str, Any] = {"apiVersion": "berth.dev/v1alpha1", "kind": "PolicyTest"}
CASE: dict[str, Any] = {"name": "c", "expect": {"p": {"pending": True}}}


def written(path: Path, **content: object) -> Path:
    path.write_text(yaml.safe_dump({**HEAD, "cluster": "dump.yaml", "cases": [CASE], **content}, sort_keys=False))
    return path


def test_reads_cases_with_their_line_numbers(tmp_path: Path) -> None:
    document, lines = read_test_file(written(tmp_path / "t.yaml", cases=[CASE, {**CASE, "name": "d"}]))
    assert [case.name for case in document.cases] == ["c", "d"]
    assert lines == (5, 9)


@pytest.mark.parametrize(("node", "patterns"), [("a", ("a",)), (["a", "b*"], ("a", "b*"))])
def test_node_may_be_one_pattern_or_several(tmp_path: Path, node: object, patterns: tuple[str, ...]) -> None:
    document, _ = read_test_file(written(tmp_path / "t.yaml", cases=[{**CASE, "expect": {"p": {"node": node}}}]))
    assert document.cases[0].expect["p"].node == patterns


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param({"cases": []}, "t.yaml:4: cases: ", id="no cases"),
        pytest.param({"kind": "Other"}, "t.yaml:2: kind: Input should be 'PolicyTest'", id="another kind"),
        pytest.param({"case": []}, "t.yaml:9: case: unknown field", id="unknown field"),
        pytest.param({"cases": [{**CASE, "expect": {}}]}, "t.yaml:6: cases[0].expect: ", id="no pod"),
        pytest.param(
            {"cases": [{**CASE, "expect": {"p": {}}}]}, "cases[0].expect.p: nothing is expected", id="nothing expected"
        ),
        pytest.param(
            {"cases": [{**CASE, "expect": {"p": {"pending": True, "node": "a"}}}]},
            "cases[0].expect.p: a pending pod has no node",
            id="node and pending",
        ),
        pytest.param(
            {"cases": [{**CASE, "expect": {"p": {"pending": "yes"}}}]},
            "t.yaml:8: cases[0].expect.p.pending: Input should be a valid boolean",
            id="string instead of a boolean",
        ),
        pytest.param({"cluster": None}, "case 'c' has no cluster", id="no cluster"),
        pytest.param({"config": "a", "profile": "b"}, "config and profile exclude each other", id="two policies"),
    ],
)
def test_error_of_an_invalid_document_names_line_and_field(
    tmp_path: Path, content: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_test_file(written(tmp_path / "t.yaml", **content))
    assert message in refused.value.message


def test_finds_test_documents_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    found = [written(tmp_path / "b.yml"), written(tmp_path / "deep" / "a.yaml")]
    written(tmp_path / "c.yaml", kind="List")
    written(tmp_path / "notes.txt")
    assert list(find_test_files(tmp_path)) == found
