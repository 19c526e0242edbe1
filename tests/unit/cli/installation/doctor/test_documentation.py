"""docs/reference/doctor.md describes every check and no other."""

from __future__ import annotations

import re

from tests.conftest import PROJECT

CONTRACT = "docs/reference/extender-contract.md"
FACTS = re.compile(r"\bfacts? (\d+a?(?:(?:, | and )\d+a?)*)")
"""Matches a message's citation of facts of the contract."""


def test_every_cited_fact_has_a_section() -> None:
    contract = (PROJECT / CONTRACT).read_text()
    sources = [path.read_text() for path in (PROJECT / "cli" / "berth_cli" / "installation" / "doctor").rglob("*.py")]
    cited = {number for source in sources for found in FACTS.findall(source) for number in re.findall(r"\d+a?", found)}
    assert cited
    assert not [number for number in cited if f'<a id="fact-{number}"></a>' not in contract]
