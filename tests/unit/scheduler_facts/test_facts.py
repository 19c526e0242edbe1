"""The measured facts: kept without loss, and compared by what they mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from berth_cli.doctor.checks.kubernetes_version import TESTED
from tests.scheduler_facts.facts import MEASURED, EmptyVictims, Facts

MEASUREMENT = Facts(
    kubernetes="v1.36.3",
    failed_nodes=1098,
    preempt_after_failed_nodes=0,
    unresolvable_nodes=2,
    errors=5,
    wake_up_by_storage_capacity=7,
    wake_up_by_node=8,
    wake_up_by_own_annotation=23,
    retry_storm=130.4,
    preempt_calls=1,
    nodes_asked_for_nominated_pod=1,
    empty_victims=EmptyVictims.ERROR,
    prioritize_of_one_node=0,
    placed_on_fuller_node=3,
)


def test_reads_what_it_has_written(tmp_path: Path) -> None:
    MEASUREMENT.write(tmp_path / "1.36.json")
    assert Facts.read(tmp_path / "1.36.json") == MEASUREMENT


def test_every_tested_version_was_measured() -> None:
    kept = {path.stem: Facts.read(path).kubernetes for path in MEASURED.glob("*.json")}
    assert sorted(kept) == list(TESTED)
    assert all(release.startswith(f"v{minor}.") for minor, release in kept.items())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"failed_nodes": 4468}, id="loop on a faster machine"),
        pytest.param({"unresolvable_nodes": 1, "errors": 7}, id="a retry more or less"),
        pytest.param({"wake_up_by_node": 900}, id="slower wake-up"),
        pytest.param({"retry_storm": 47.0}, id="slower storm"),
        pytest.param({"placed_on_fuller_node": 7}, id="other random nodes"),
    ],
)
def test_noise_is_the_same_behaviour(changes: dict[str, Any]) -> None:
    assert replace(MEASUREMENT, **changes).behaviour() == MEASUREMENT.behaviour()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("failed_nodes", 2, id="FailedNodes ends the loop"),
        pytest.param("preempt_after_failed_nodes", 1, id="FailedNodes leads to preempt"),
        pytest.param("unresolvable_nodes", 500, id="unresolvable nodes loop"),
        pytest.param("errors", 500, id="errors loop"),
        pytest.param("wake_up_by_storage_capacity", 20_000, id="no wake-up by the object"),
        pytest.param("wake_up_by_node", 20_000, id="no wake-up by a node"),
        pytest.param("wake_up_by_own_annotation", 20_000, id="no wake-up by the pod"),
        pytest.param("retry_storm", 5.0, id="back-off ends the storm"),
        pytest.param("preempt_calls", 0, id="no preempt call"),
        pytest.param("nodes_asked_for_nominated_pod", 2, id="no question about the nominated node"),
        pytest.param("empty_victims", EmptyVictims.PREEMPTS, id="empty victims are accepted"),
        pytest.param("prioritize_of_one_node", 1, id="one node is scored"),
        pytest.param("placed_on_fuller_node", 0, id="full mode is scored"),
    ],
)
def test_other_behaviour_is_named(field: str, value: Any) -> None:
    changed = replace(MEASUREMENT, **{field: value}).behaviour()
    kept = MEASUREMENT.behaviour()
    assert [name for name in kept if changed[name] != kept[name]] == [field]
