"""docs/reference/doctor.md describes every check and no other."""

from __future__ import annotations

import re

from berth_cli.doctor.checklist import HOW_TO_PROVIDE
from berth_cli.doctor.findings import CONTRACT, FACTS, CheckName, Result
from tests.conftest import PROJECT
from tests.unit.cli.doctor.test_every_check import CASES

DOCUMENTED = {"failed": Result.FAILED, "warning": Result.WARNING}
CHECKS = PROJECT / "docs" / "reference" / "doctor.md"


def results() -> dict[str, set[Result]]:
    """What each check can end with, as it is documented; a check may stand in several rows."""
    found: dict[str, set[Result]] = {}
    for row in (line.split("|") for line in CHECKS.read_text().splitlines() if line.startswith("| `")):
        for name in re.findall(r"`([\w-]+)`", row[1]):
            found.setdefault(name, set()).update(DOCUMENTED[word.strip()] for word in row[2].split(","))
    return found


def test_each_tested_result_is_documented() -> None:
    documented = results()
    for case in CASES:
        for check, said in case.findings.items():
            assert said.result in documented[check], (case.description, check)


def test_documented_checks_match_check_names() -> None:
    documented = results()
    # Groups of checks without input have instructions instead of documentation.
    assert documented.keys() == {name.value for name in CheckName} - {"address", "cluster", "account"}
    assert {"address", "cluster", "account"} <= HOW_TO_PROVIDE.keys()


def test_each_cited_fact_has_a_section() -> None:
    contract = (PROJECT / CONTRACT).read_text()
    sources = [path.read_text() for path in (PROJECT / "cli" / "berth_cli" / "doctor").rglob("*.py")]
    cited = {number for source in sources for found in FACTS.findall(source) for number in re.findall(r"\d+a?", found)}
    assert cited
    assert not [number for number in cited if f'<a id="fact-{number}"></a>' not in contract]
