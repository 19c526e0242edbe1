"""The judge of upstream's tables sees a wrong answer, and a list that is no longer true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.upstream.staging import StagingError
from tests.upstream.tables.__main__ import difference, judged, unexpected
from tests.upstream.tables.recording import recording_test
from tests.upstream.tables.tables import Row, Table

NODE = {"metadata": {"name": "n"}, "spec": {"unschedulable": True}, "status": {}}
POD = {"metadata": {"name": "p"}, "spec": {"containers": []}, "status": {}}
REJECTED = {"code": "UnschedulableAndUnresolvable", "reasons": ["node(s) were unschedulable"]}


def row(output: object, test: str = "TestNodeUnschedulable/cordoned") -> dict[str, Any]:
    """A cordoned node, and what upstream says of it."""
    asked = {"plugin": "NodeUnschedulable", "args": None, "pod": POD, "nodes": [{"node": NODE, "pods": []}], "node": 0}
    return {"table": "nodeunschedulable", "test": test, "function": "Filter", "input": asked, "output": output}


def quantity(text: str, value: int) -> dict[str, Any]:
    """A row of a table of which the test names no cases."""
    output = {"value": value, "milli": 1000 * value}
    return {"table": "q", "test": "TestParse", "function": "ParseQuantity", "input": {"text": text}, "output": output}


@pytest.mark.parametrize(
    ("output", "differs"),
    [
        (REJECTED, False),
        ({**REJECTED, "reasons": ["node(s) were cordoned"]}, True),
        ({**REJECTED, "code": "Unschedulable"}, True),
        ({"code": "Success", "reasons": []}, True),
    ],
)
def test_compares_code_and_reasons(output: object, differs: bool) -> None:
    assert bool(difference(row(output))) is differs


def test_rows_of_one_test_are_one_case() -> None:
    cases = judged([row(REJECTED), row({"code": "Success", "reasons": []})])
    assert list(cases) == ["plugins/nodeunschedulable/TestNodeUnschedulable/cordoned"]
    assert len(cases["plugins/nodeunschedulable/TestNodeUnschedulable/cordoned"]) == 1


def test_rows_without_names_are_cases_by_number() -> None:
    assert judged([quantity("1", 1), quantity("2", 3)]).keys() == {"plugins/q/TestParse#1", "plugins/q/TestParse#2"}


@pytest.mark.parametrize(
    ("listed", "wrong"),
    [
        ({"plugins/q/TestParse#2": "why"}, []),
        ({}, ["plugins/q/TestParse#2"]),
        (
            {"plugins/q/TestParse#1": "why", "plugins/q/TestParse#2": "why"},
            ["plugins/q/TestParse#1 is listed and does not differ"],
        ),
        ({"plugins/q/TestParse#2": "why", "plugins/gone": "why"}, ["plugins/gone is listed and was not recorded"]),
    ],
)
def test_list_has_all_differences_and_nothing_else(listed: dict[str, str], wrong: list[str]) -> None:
    found = unexpected(judged([quantity("1", 1), quantity("2", 3)]), listed)
    assert [each.splitlines()[0] for each in found] == wrong


TEST = """package taints

import (
	"testing"
)

func TestTaints(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := Tolerates(tc.taint)
		})
	}
}
"""
ROW = Row("taints_test.go", r"got := Tolerates\(", "ToleratesTaints", '"taint": tc.taint', "tc.want")


def test_test_says_that_it_begins_and_writes_its_row_before_the_call() -> None:
    path = Path("taints_test.go")
    text = recording_test(Table("taints", rows=(ROW,)), path, TEST)[path]
    assert [line.strip() for line in text.splitlines() if "record" in line] == [
        '"k8s.io/kubernetes/berth/record"',
        'record.Test("taints", t.Name())',
        'record.Test("taints", t.Name())',
        'record.Call("ToleratesTaints", map[string]any{"taint": tc.taint})(tc.want)',
    ]
    assert text.index("record.Call") < text.index("got := Tolerates")


def test_row_of_a_call_that_upstream_no_longer_makes_is_an_error() -> None:
    path = Path("taints_test.go")
    with pytest.raises(StagingError):
        recording_test(Table("taints", rows=(ROW,)), path, TEST.replace("Tolerates(", "Accepts("))
