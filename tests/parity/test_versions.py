"""The differences between versions of kube-scheduler: what is taken from a case, and what their own cases must show."""

from __future__ import annotations

from tests.conftest import PROJECT
from tests.parity.generator.cases import case, cases
from tests.parity.generator.features import Family
from tests.parity.versions import CASES, DIFFERENCES, VERSION, comparable

LOCKED = {path.stem for path in (PROJECT / "tests" / "kubernetes").glob("*.mod")}


def test_decisions_are_equal_for_the_version_that_berth_implements() -> None:
    assert VERSION in LOCKED
    assert not any(VERSION in difference.versions for difference in DIFFERENCES)
    assert comparable(drawn := case(1, Family.FILTER, 1), VERSION) is drawn


def test_differences_name_locked_versions_and_each_has_a_case() -> None:
    assert {path.stem for path in CASES.iterdir()} == {difference.name for difference in DIFFERENCES}
    assert all(difference.versions <= LOCKED for difference in DIFFERENCES)


def test_at_least_a_quarter_of_the_cases_can_be_compared_unchanged() -> None:
    drawn = list(cases(1, Family.FILTER, 200))
    for version in sorted(LOCKED):
        whole = sum(comparable(each, version) == each for each in drawn)
        assert whole >= len(drawn) / 4, version
