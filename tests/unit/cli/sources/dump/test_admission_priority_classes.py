"""Priorities, and the PriorityClasses that they come from."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import PriorityClass
from berth_cli.sources.dump.admission import priority_class_of

HIGH = PriorityClass("high", 1000, preemption_policy="Never")
USUAL = PriorityClass("usual", 10, global_default=True)
MODEST = PriorityClass("modest", -5, global_default=True)


def classes(*found: PriorityClass) -> dict[str, PriorityClass]:
    return {each.name: each for each in found}


@pytest.mark.parametrize(
    ("name", "known", "wanted"),
    [
        pytest.param("high", classes(HIGH, USUAL), HIGH, id="by its name"),
        pytest.param("", classes(HIGH, USUAL), USUAL, id="default class if none is named"),
        pytest.param("", classes(USUAL, MODEST), MODEST, id="lowest of several defaults"),
        pytest.param("unknown", classes(HIGH, USUAL), None, id="unknown name does not use the default"),
    ],
)
def test_resolves_priority_class(name: str, known: dict[str, PriorityClass], wanted: PriorityClass | None) -> None:
    assert priority_class_of(name, known) == wanted


@pytest.mark.parametrize(
    ("name", "known", "value"),
    [
        pytest.param("", classes(HIGH), 0, id="0 if there is no default"),
        pytest.param("system-node-critical", {}, 2_000_001_000, id="system-cluster-critical is built in"),
        pytest.param("system-cluster-critical", {}, 2_000_000_000, id="system-node-critical is built in"),
    ],
)
def test_knows_system_classes_even_if_not_listed(name: str, known: dict[str, PriorityClass], value: int) -> None:
    found = priority_class_of(name, known)
    assert found is not None
    assert (found.value, found.preemption_policy) == (value, "PreemptLowerPriority")
