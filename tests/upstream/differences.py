"""The cases of upstream that end differently with Berth: `differences.json` has the reasons by the name of the case."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.upstream.results import Outcome

FILE = Path(__file__).with_suffix(".json")
GOOD = (Outcome.PASSED, Outcome.SKIPPED)
SOMETIMES = "Sometimes: "


def known() -> Mapping[str, str]:
    """Return the reasons by name, such as alone/filters/TestInterPodAffinity/some_case."""
    found: dict[str, str] = json.loads(FILE.read_text())
    return found


def compare(outcomes: Mapping[str, Outcome], reasons: Mapping[str, str]) -> list[str]:
    """Return the contradictions to the reasons: unlisted cases that fail, and listed cases that do not fail.

    Only the reasons of tests that have run count. With a reason of SOMETIMES, a case may end either way.
    """
    tests = {_test(name) for name in outcomes}
    unknown = [f"{name}: {end}" for name, end in outcomes.items() if end not in GOOD and name not in reasons]
    gone = [
        f"{name} is among the differences, and {outcomes.get(name, 'there is no such case')}"
        for name in reasons
        if _test(name) in tests and _is_gone(outcomes.get(name), reasons[name])
    ]
    return [*unknown, *gone]


def _is_gone(outcome: Outcome | None, reason: str) -> bool:
    return outcome is None or (outcome in GOOD and not reason.startswith(SOMETIMES))


def _test(case: str) -> str:
    """Return the name without the subtest: a test's name has no slash, and the suites' names do not contain Test."""
    group, _, test = case.partition("/Test")
    return f"{group}/Test{test.partition('/')[0]}"
