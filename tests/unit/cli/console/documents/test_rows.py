"""What the page shows of a node and of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.console.documents.rows import NO_NODE, NodeFlag, PodState, node_row, pod_row
from tests.builders.counted import LICENCE, LICENCES, counted_node, counting
from tests.unit.cli.console.cases import NO_COUNTING, node, pod, snapshot

NOT_READY = {"conditions": [{"type": "Ready", "status": "Unknown"}]}


@pytest.mark.parametrize(
    ("fields", "flags"),
    [
        pytest.param({}, NodeFlag.NONE, id="a ready node has no flag"),
        pytest.param({"status": NOT_READY}, NodeFlag.NOT_READY, id="a node whose readiness is unknown is not ready"),
        pytest.param(
            {"status": {"conditions": []}}, NodeFlag.NONE, id="a node that says nothing is not called not ready"
        ),
        pytest.param({"unschedulable": True}, NodeFlag.UNSCHEDULABLE, id="a cordoned node is unschedulable"),
        pytest.param({"allocatable": {"cpu": "many"}}, NodeFlag.DEFECT, id="an unreadable node has a defect"),
    ],
)
def test_node_flags(fields: Any, flags: NodeFlag) -> None:
    assert node_row(node("n", **fields), NO_COUNTING).flags == flags


def test_node_has_what_its_pods_request_and_their_number() -> None:
    info = snapshot([node("n")], [pod("a", "n", requests={"cpu": "500m"}), pod("b", "n")]).nodes["n"]
    row = node_row(info, NO_COUNTING)
    assert row.allocatable == {"cpu": 4000, "memory": 8 << 30, "pods": 10}
    assert row.used == {"cpu": 500, "memory": 0, "pods": 2}


def test_node_has_what_is_counted_of_it() -> None:
    info = snapshot([counted_node("n", licences="5")], [pod("a", "n", requests={LICENCE: "2"})]).nodes["n"]
    row = node_row(info, counting(LICENCES))
    assert (row.allocatable[LICENCE], row.used[LICENCE]) == (5, 2)


def test_taints_are_written_as_kubectl_writes_them() -> None:
    taints = [{"key": "dedicated", "value": "ml", "effect": "NoSchedule"}, {"key": "spot", "effect": "NoExecute"}]
    assert node_row(node("n", taints=taints), NO_COUNTING).taints == ("dedicated=ml:NoSchedule", "spot:NoExecute")


@pytest.mark.parametrize(
    ("on", "is_known", "fields", "state"),
    [
        pytest.param("n", True, {}, PodState.ON_NODE, id="on its node"),
        pytest.param("gone", False, {}, PodState.UNKNOWN_NODE, id="on a node that the cluster does not have"),
        pytest.param("", True, {}, PodState.PENDING, id="without a node"),
        pytest.param("", True, {"schedulingGates": [{"name": "quota"}]}, PodState.GATED, id="behind a gate"),
        pytest.param(
            "n", True, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, PodState.TERMINATING, id="deleted"
        ),
    ],
)
def test_pod_state(on: str, is_known: bool, fields: Any, state: PodState) -> None:
    assert pod_row(pod("p", on, **fields), NO_NODE, is_known=is_known).state == state


def test_pod_names_its_controller_and_its_gang() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    labels = {"pod-group.scheduling.sigs.k8s.io": "train"}
    row = pod_row(pod("p", labels=labels, metadata={"ownerReferences": [owner]}), NO_NODE)
    assert (row.controller, row.gang) == ("Job/train", "train")
