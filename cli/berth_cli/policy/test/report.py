"""The output of `berth policy test`: lines for people, an object for JSON, and JUnit's XML for CI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree import ElementTree

from berth.scheduling.reason_code import REASON_CODES_VERSION
from berth_cli.policy.test.case_run import CaseResult, Failure

# XML 1.0 has no character references for these.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def lines(results: Sequence[CaseResult]) -> Iterator[str]:
    """One line for each case, with what does not hold under it."""
    for result in results:
        yield f"{'FAIL' if result.failures else 'pass'}  {result.case.place}  {result.case.name}"
        for failure in result.failures:
            yield from (f"      {line}" for line in _failure_lines(failure))
    failed = sum(bool(result.failures) for result in results)
    yield f"{len(results)} cases: {len(results) - failed} passed, {failed} failed"


def document(results: Sequence[CaseResult]) -> dict[str, object]:
    """For programs."""
    failed = sum(bool(result.failures) for result in results)
    return {
        "reasonCodesVersion": REASON_CODES_VERSION,
        "cases": [
            {
                "name": result.case.name,
                "file": str(result.case.file),
                "line": result.case.line,
                "passed": not result.failures,
                "failures": [
                    {
                        "pod": failure.pod,
                        "expected": failure.expected,
                        "found": failure.found,
                        "details": list(failure.details),
                        "reasonCodes": list(failure.codes),
                    }
                    for failure in result.failures
                ],
            }
            for result in results
        ],
        "passed": len(results) - failed,
        "failed": failed,
    }


def junit(results: Sequence[CaseResult]) -> bytes:
    """JUnit's XML: a suite for each file, a test case for each case."""
    root = ElementTree.Element("testsuites", _counts(results))
    for file, found in groupby(results, lambda result: str(result.case.file)):
        cases = list(found)
        suite = ElementTree.SubElement(root, "testsuite", {"name": _xml(file), **_counts(cases)})
        for result in cases:
            attributes = {
                "name": _xml(result.case.name),
                "classname": _xml(file),
                "file": _xml(file),
                "line": str(result.case.line),
            }
            case = ElementTree.SubElement(suite, "testcase", attributes)
            if result.failures:
                failure = ElementTree.SubElement(case, "failure", {"message": _xml(str(result.failures[0]))})
                failure.text = _xml("\n".join(line for each in result.failures for line in _failure_lines(each)))
    ElementTree.indent(root)
    found_bytes: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found_bytes + b"\n"


def _failure_lines(failure: Failure) -> Iterator[str]:
    yield str(failure)
    yield from (f"  {detail}" for detail in failure.details)


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    failed = sum(bool(result.failures) for result in results)
    return {"tests": str(len(results)), "failures": str(failed), "errors": "0", "skipped": "0"}


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
