"""The differences between versions of kube-scheduler: what is taken from a case, and what their own cases must show."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.conftest import PROJECT
from tests.parity.differences import Difference
from tests.parity.generator.cases import case, cases
from tests.parity.generator.features import Family
from tests.parity.responder import Case
from tests.parity.versions import (
    CASES,
    DIFFERENCES,
    VERSION,
    VersionDifference,
    comparable,
    comparable_differences,
    unexpected,
)

LOCKED = {path.stem for path in (PROJECT / "tests" / "kubernetes").glob("*.mod")}
DIFFERENT = Difference("rule", "node", "theirs", "ours")


def test_berth_has_the_rules_of_its_version() -> None:
    assert VERSION in LOCKED
    assert not any(VERSION in difference.versions for difference in DIFFERENCES)
    assert comparable(drawn := case(1, Family.FILTER, 1), VERSION) is drawn


def test_differences_are_of_locked_versions_and_each_has_a_case() -> None:
    assert {path.stem for path in CASES.iterdir()} == {difference.name for difference in DIFFERENCES}
    assert all(difference.versions <= LOCKED for difference in DIFFERENCES)


def test_compares_all_rules_but_those_that_differ() -> None:
    ignored = Difference("score of NodeResourcesBalancedAllocation", "node", 1, 2)
    assert comparable_differences([ignored, DIFFERENT], "1.34") == [DIFFERENT]
    assert comparable_differences([ignored, DIFFERENT], VERSION) == [ignored, DIFFERENT]


@pytest.mark.parametrize("difference", [pytest.param(each, id=each.name) for each in DIFFERENCES if not each.rules])
def test_takes_from_a_case_what_differs_and_changes_no_other_case(difference: VersionDifference) -> None:
    version = min(difference.versions)
    _, saved = difference.saved()
    before = deepcopy(saved)
    remaining = comparable(saved, version)
    assert remaining != before
    assert saved == before
    assert comparable(remaining, version) == remaining


def test_most_of_the_cases_stay_whole() -> None:
    for version in sorted(LOCKED):
        drawn = list(cases(1, Family.FILTER, 200))
        whole = sum(comparable(each, version) == each for each in drawn)
        assert whole >= len(drawn) / 4, version


@pytest.mark.parametrize(
    ("selector", "stays"),
    [
        pytest.param({}, True, id="all namespaces"),
        pytest.param({"matchLabels": {"team": "red"}}, True, id="label"),
        pytest.param({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, True, id="Exists"),
        pytest.param({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False, id="DoesNotExist"),
        pytest.param(
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}, False, id="NotIn"
        ),
        pytest.param(
            {
                "matchExpressions": [
                    {"key": "team", "operator": "DoesNotExist"},
                    {"key": "stage", "operator": "Exists"},
                ]
            },
            True,
            id="both",
        ),
    ],
)
def test_only_selectors_that_no_label_satisfies_differ(selector: dict[str, object], stays: bool) -> None:
    term = {"topologyKey": "zone", "namespaceSelector": selector}
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term}]}}
    drawn: Case = {"objects": [], "pod": {"kind": "Pod", "spec": {"affinity": affinity}}}
    assert (comparable(drawn, "1.37") == drawn) is stays


@pytest.mark.parametrize(
    ("version", "differs", "found"),
    [
        pytest.param("1.36", False, set(), id="equal where it should be"),
        pytest.param(
            "1.37",
            False,
            {f"the case {each.name} is equal in 1.37" for each in DIFFERENCES if "1.37" in each.versions},
            id="equal where it differs",
        ),
        pytest.param("1.36", True, {f"the case {each.name} differs in 1.36" for each in DIFFERENCES}, id="differs"),
    ],
)
def test_names_cases_that_show_something_else(version: str, differs: bool, found: set[str]) -> None:
    def compare(_: Family, __: Case) -> list[Difference]:
        return [DIFFERENT] if differs else []

    assert set(unexpected(version, compare)) == found
