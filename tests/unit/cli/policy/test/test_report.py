"""The output of `berth policy test`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.reason_code import ReasonCode
from berth_cli.cluster_files.manifests import Manifests
from berth_cli.policy.test.case import Case
from berth_cli.policy.test.case_run import CaseResult, Failure
from berth_cli.policy.test.report import document, junit, lines


def result(name: str, *failures: Failure, file: str = "a.yaml", line: int = 3) -> CaseResult:
    case = Case(name, Path(file), line, BerthConfiguration(), 1, (), Manifests(), {})
    return CaseResult(case, failures)


WRONG = Failure(
    "default/web",
    "node cpu-*",
    "gpu-1",
    ("cpu-1: NodeResourcesFit: Insufficient cpu",),
    (ReasonCode.INSUFFICIENT_RESOURCE,),
)


def test_lines_have_each_case_and_what_does_not_hold() -> None:
    assert list(lines([result("first"), result("second", WRONG, line=9)])) == [
        "pass  a.yaml:3  first",
        "FAIL  a.yaml:9  second",
        "      default/web: expected node cpu-*, found gpu-1",
        "        cpu-1: NodeResourcesFit: Insufficient cpu",
        "2 cases: 1 passed, 1 failed",
    ]


def test_document_has_each_case_and_failure() -> None:
    found = document([result("second", WRONG)])
    assert (found["passed"], found["failed"], found["reasonCodesVersion"]) == (0, 1, 1)
    assert found["cases"] == [
        {
            "name": "second",
            "file": "a.yaml",
            "line": 3,
            "passed": False,
            "failures": [
                {
                    "pod": "default/web",
                    "expected": "node cpu-*",
                    "found": "gpu-1",
                    "details": ["cpu-1: NodeResourcesFit: Insufficient cpu"],
                    "reasonCodes": ["InsufficientResource"],
                }
            ],
        }
    ]


def test_junit_has_a_suite_for_each_file_and_a_failure_for_each_failed_case() -> None:
    root = ElementTree.fromstring(junit([result("first"), result("second", WRONG), result("third", file="b.yaml")]))
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in root] == [
        ("a.yaml", "2", "1"),
        ("b.yaml", "1", "0"),
    ]
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    failure = root.find("testsuite/testcase[@name='second']/failure")
    assert failure is not None
    assert failure.get("message") == "default/web: expected node cpu-*, found gpu-1"
    assert failure.text is not None
    assert failure.text.splitlines()[1] == "  cpu-1: NodeResourcesFit: Insufficient cpu"
    assert root.find("testsuite/testcase[@name='first']/failure") is None


def test_junit_is_xml_whatever_a_name_contains() -> None:
    root = ElementTree.fromstring(junit([result("<a> & \x07\ud800 \N{GREEK SMALL LETTER ALPHA}")]))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "<a> & \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} \N{GREEK SMALL LETTER ALPHA}"
