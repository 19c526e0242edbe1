"""The witness of tests/chaos: what must never happen, however short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chaos.cluster_model import SCHEDULERS, SLOT, pod
from tests.chaos.faults.every_fault import FAULTS
from tests.chaos.witness import Witness
from tests.e2e.kubernetes.kubernetes_api import Credentials


def bound(name: str, node: str, team: str = "", slots: int = 1) -> dict[str, Any]:
    found = pod(name, {SLOT: slots}, SCHEDULERS[0], team)
    found["metadata"] |= {"namespace": "default", "uid": name}
    found["spec"]["nodeName"] = node
    return found


@pytest.fixture
def witness() -> Witness:
    """It does not watch: the tests tell it the events."""
    return Witness(Credentials("http://127.0.0.1:1", Path("ca.crt"), "token"))


@pytest.mark.parametrize(
    ("second", "judges_teams", "violations"),
    [
        pytest.param(("node-0", "blue"), True, ["default/b is a second pod of blue on node-0"], id="of its team"),
        pytest.param(("node-0", "blue"), False, [], id="while the rule may break"),
        pytest.param(("node-1", "blue"), True, [], id="on another node"),
        pytest.param(("node-0", "green"), True, [], id="of another team"),
        pytest.param(("node-0", ""), True, [], id="of no team"),
    ],
)
def test_notes_a_second_pod_of_a_team_on_a_node(
    witness: Witness, second: tuple[str, str], judges_teams: bool, violations: list[str]
) -> None:
    witness.judges_teams = judges_teams
    witness.learn("ADDED", bound("a", "node-0", "blue"))
    witness.learn("ADDED", bound("b", *second))
    assert witness.violations() == violations


def test_notes_no_pod_beside_one_that_has_ended(witness: Witness) -> None:
    witness.learn("ADDED", bound("a", "node-0", "blue"))
    witness.learn("DELETED", bound("a", "node-0", "blue"))
    witness.learn("ADDED", bound("b", "node-0", "blue"))
    assert witness.violations() == []


def test_notes_overcommitted_node(witness: Witness) -> None:
    witness.learn("ADDED", bound("a", "node-0", slots=5))
    witness.learn("ADDED", bound("b", "node-0", slots=4))
    assert witness.violations() == [f"node-0 is overcommitted by default/b: 9 of 8 {SLOT}"]


def test_rules_hold_under_most_faults() -> None:
    """What they need is lost only with the ledger, with the clocks, and with the labels."""
    assert {each.name for each in FAULTS if not each.keeps_rules} == {
        *("ledger-table-lost", "both-tables-lost", "ledger-lost-after-cache", "cache-lost-after-ledger"),
        *("clock-ahead", "clock-behind", "pods-grow"),
    }
