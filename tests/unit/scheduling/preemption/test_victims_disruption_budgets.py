"""Violations of PodDisruptionBudgets (fact 31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.preemption.victims import DisruptionBudgets
from berth_cli.placement.scheduler.preemption import after_evictions
from tests.unit.scheduling.preemption.preempting import NODE, app, budget, placed, snapshot, urgent, victims, violations

Object = dict[str, Any]

DB, WEB = {"app": "db"}, {"app": "web"}
BOTH = {"app": "db", "tier": "back"}
BACK = {"matchLabels": {"tier": "back"}}


def three(**labels: str) -> list[Object]:
    return [placed(name, labels=labels) for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param([*three(app="db")], 0, id="no budget"),
        pytest.param([*three(app="db"), budget(0, app("db"))], 3, id="no disruption allowed: each eviction violates"),
        pytest.param([*three(app="db"), budget(2, app("db"))], 1, id="evictions beyond the allowed number violate"),
        pytest.param([*three(app="db"), budget(3, app("db"))], 0, id="all are allowed"),
        pytest.param([*three(app="db"), budget(0, app("db"), disrupted=["a", "b"])], 1, id="counted before already"),
        pytest.param([*three(app="db"), budget(1, app("db"), disrupted=["a"])], 1, id="counted evictions are free"),
        pytest.param(
            [*three(app="db", tier="back"), budget(2, app("db")), budget(1, BACK)],
            2,
            id="every matching budget is used up by each pod",
        ),
        pytest.param([*three(app="db", tier="back"), budget(0, app("db")), budget(0, BACK)], 3, id="two budgets once"),
        pytest.param(
            [
                placed("a", 3, labels=BOTH),
                placed("b", 2, labels=WEB | {"tier": "back"}),
                placed("c", 1, labels=BOTH),
                budget(0, app("db")),
                budget(1, BACK),
            ],
            3,
            id="a violated budget does not keep a pod from using up the others",
        ),
    ],
)
def test_counts_the_victims_that_violate_a_disruption_budget(objects: list[Object], wanted: int) -> None:
    assert violations(urgent("4"), NODE, *objects) == wanted


def test_does_not_count_the_violation_of_a_reprieved_pod() -> None:
    pods = placed("a", 2, "2", labels=WEB), placed("b", 1, "2", labels=DB)
    assert violations(urgent("2"), NODE, *pods, budget(0, app("db"))) == 0


def test_pods_of_highest_priority_use_allowed_disruptions_first() -> None:
    """`low` violates, is reprieved first and stays; pods in its way may be evicted."""
    pods = placed("high", 2, "2", labels=DB), placed("low", 1, "2", labels=DB)
    cluster = NODE, *pods, budget(1, app("db"))
    assert victims(urgent("2"), *cluster) == ["high"]
    assert violations(urgent("2"), *cluster) == 0


def test_counts_violations_only_if_budgets_exist() -> None:
    pods = snapshot(NODE, placed("a")).nodes["n"].pods
    assert DisruptionBudgets(()).split(pods) == ([], list(pods))


@pytest.mark.parametrize(("allowed", "left"), [(3, 1), (1, 0), (0, 0)])
def test_evictions_reduce_the_disruptions_a_budget_allows(allowed: int, left: int) -> None:
    found = snapshot(NODE, *three(app="db"), budget(allowed, app("db")))
    leaving = replace(found.nodes["n"].pods[2], terminating=True)
    after = after_evictions(found.disruption_budgets, [*found.nodes["n"].pods[:2], leaving])
    assert [each.disruptions_allowed for each in after] == [left]
