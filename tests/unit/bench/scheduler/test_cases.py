"""The cases of the benchmark through kube-scheduler: names, what each is compared with, and the choice of some."""

from __future__ import annotations

import pytest

from tests.bench.scheduler.cases import CASES, SMALL, Case, Extender, baseline, beside_none, selected

NAMED = {case.name: case for case in CASES}


def test_every_case_has_a_name_of_its_own() -> None:
    assert len(NAMED) == len(CASES)


@pytest.mark.parametrize(
    ("name", "none", "null"),
    [
        ("berth", "none", "null"),
        ("go-full", "none", "null"),
        ("berth-onlyone", "none", "null-onlyone"),
        ("berth.mixed", "none.mixed", "null.mixed"),
        ("berth-onlyone.mixed", "none.mixed", "null-onlyone.mixed"),
        ("berth-onlyone.events-10", "none.events-10", "null-onlyone.events-10"),
        ("berth.pending-100", "none.events-1", "null.pending-100"),
        ("berth.delay-20", "none", "null.delay-20"),
        ("null", "none", None),
    ],
)
def test_case_is_compared_with_the_same_pods_and_events(name: str, none: str, null: str | None) -> None:
    case = NAMED[name]
    other = baseline(case)
    assert (beside_none(case).name, other and other.name) == (none, null)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["none"], ["none"]),
        (["berth-counted.*"], ["berth-counted.schedulers-1", "berth-counted.schedulers-8"]),
        (["null", "none"], ["none", "null"]),
        (SMALL, ["none", "null", "berth", "berth-onlyone"]),
    ],
)
def test_selects_by_pattern_in_the_order_of_the_table(patterns: list[str], names: list[str]) -> None:
    assert [case.name for case in selected(patterns)] == names


def test_unknown_pattern_names_the_cases() -> None:
    with pytest.raises(ValueError, match=r"no case is named berth-one; there are: none null .*berth-onlyone"):
        selected(["berth-one"])


def test_plain_case_is_named_after_its_extender() -> None:
    assert Case(Extender.GO_FULL).name == "go-full"
