"""The row of a node and of a pod in the console."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.console.feed import node_row, pod_row
from tests.unit.cli.console.cases import NO_COUNTING, node, pod, snapshot

NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown"}]}


@pytest.mark.parametrize(
    ("fields", "states"),
    [
        pytest.param({}, [], id="a ready node has no state"),
        pytest.param({"status": NOT_READY}, ["not ready"], id="a node whose readiness is unknown is not ready"),
        pytest.param({"status": {"conditions": []}}, [], id="a node without conditions is not called not ready"),
        pytest.param({"unschedulable": True}, ["unschedulable"], id="a cordoned node is unschedulable"),
        pytest.param({"allocatable": {"cpu": "many"}}, ["unreadable"], id="an unreadable node has a defect"),
    ],
)
def test_node_row_shows_its_states(fields: Any, states: list[str]) -> None:
    assert node_row(node("n", **fields), NO_COUNTING)["states"] == states


def test_node_row_shows_requests_and_number_of_its_pods() -> None:
    info = snapshot([node("n")], [pod("a", "n", requests={"cpu": "500m"}), pod("b", "n")]).nodes["n"]
    assert node_row(info, NO_COUNTING)["amounts"] == {"cpu": (4000, 500), "memory": (8 << 30, 0), "pods": (10, 2)}


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        pytest.param({}, "on its node", id="on its node"),
        pytest.param({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "terminating", id="deleted"),
    ],
)
def test_pod_row_shows_its_state(fields: Any, state: str) -> None:
    assert pod_row(pod("p", "n", **fields))["state"] == state
