"""docs/operations.md has every check, and no other."""

from __future__ import annotations

import re

from berth_cli.doctor.checklist import HOW
from berth_cli.doctor.finding import CheckName
from tests.conftest import PROJECT

OPERATIONS = PROJECT / "docs" / "operations.md"


def test_every_check_is_documented_and_every_documented_check_is_there() -> None:
    _, _, checks = OPERATIONS.read_text().partition("### The scheduler's configuration")
    rows = [line.split("|")[1] for line in checks.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    # Families of which nothing was given are told by what to give.
    assert documented == {name.value for name in CheckName} - {"address", "cluster", "account"}
    assert {"address", "cluster", "account"} <= HOW.keys()
