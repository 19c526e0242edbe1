"""TaintToleration, and the plugins for nodes that are not ready or are cordoned."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_taints import NodeReady, NodeUnschedulable, TaintToleration
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import scores, verdict

UNTOLERATED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) had untolerated taint(s)",), "TaintToleration")

Strings = dict[str, str]

plugin = TaintToleration(NoArgs())


def taint(effect: str = "NoSchedule", value: str = "a", key: str = "k") -> Strings:
    return {"key": key, "value": value, "effect": effect}


@pytest.mark.parametrize(
    ("tolerations", "wanted"),
    [
        pytest.param([{"key": "k", "operator": "Exists"}], UNTOLERATED, id="one taint is left"),
        pytest.param([{"key": key, "operator": "Exists"} for key in "kj"], SUCCESS, id="another toleration each"),
    ],
)
def test_requires_toleration_of_every_taint(tolerations: list[Strings], wanted: Status) -> None:
    tainted = node_with(taints=[taint(), taint("NoExecute", key="j")])
    assert verdict(plugin, pod_with(tolerations=tolerations), tainted) == wanted


ADVICE = taint("PreferNoSchedule")
THREE = [taint("PreferNoSchedule", key=key) for key in "kji"]


@pytest.mark.parametrize(
    ("taints", "tolerations", "wanted"),
    [
        pytest.param([], [], 100, id="no taints are best"),
        pytest.param(THREE, [], 0, id="the most taints are worst"),
        pytest.param([ADVICE], [], 67, id="in proportion, rounded down before it is reversed"),
        pytest.param([taint(), taint("NoExecute")], [], 100, id="taints that repel do not count"),
        pytest.param([ADVICE], [{"key": "k", "operator": "Exists"}], 100, id="a toleration of any effect"),
        pytest.param(
            [ADVICE], [{"key": "k", "operator": "Exists", "effect": "PreferNoSchedule"}], 100, id="of this effect"
        ),
        pytest.param([ADVICE], [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}], 67, id="another effect"),
    ],
)
def test_untolerated_soft_taints_lower_scores(taints: list[Strings], tolerations: list[Strings], wanted: int) -> None:
    worst = node_with("worst", taints=[taint("PreferNoSchedule", key=key) for key in "xyz"])
    found = scores(plugin, pod_with(tolerations=tolerations), node_with("n", taints=taints), worst)
    assert found == {"n": wanted, "worst": 0}


def test_scores_all_nodes_equally_without_soft_taints() -> None:
    assert scores(plugin, pod_with(), node_with("a"), node_with("b")) == {"a": 100, "b": 100}


def rejected(reason: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), "NodeReady")


NOT_READY = rejected("node(s) were not ready")
NOT_RUNNING = rejected("node(s) were not running")

Fields = dict[str, Any]


def ready(value: str) -> Fields:
    return {"conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": value}]}


def tolerating(key: str, effect: str = "NoSchedule") -> Fields:
    return {"tolerations": [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}]}


@pytest.mark.parametrize(
    ("status", "spec", "wanted"),
    [
        pytest.param(ready("True"), {}, SUCCESS, id="ready"),
        pytest.param(ready("False"), {}, NOT_READY, id="not ready"),
        pytest.param(ready("Unknown"), {}, NOT_READY, id="status unknown"),
        pytest.param({"conditions": None}, {}, SUCCESS, id="a missing condition passes"),
        pytest.param(ready("False"), tolerating("not-ready"), SUCCESS, id="a pod that tolerates the not-ready taint"),
        pytest.param(ready("Unknown"), tolerating("unreachable"), SUCCESS, id="pod that tolerates unreachable taint"),
        pytest.param(ready("Unknown"), tolerating("not-ready"), NOT_READY, id="another taint"),
        pytest.param(ready("False"), tolerating("not-ready", "NoExecute"), NOT_READY, id="NoExecute is not enough"),
        pytest.param({"phase": "Pending"}, {}, NOT_RUNNING, id="pending"),
        pytest.param({"phase": "Terminated"}, {}, NOT_RUNNING, id="terminated"),
        pytest.param({"phase": "Running"}, {}, SUCCESS, id="running"),
    ],
)
def test_node_that_is_not_ready_or_running_is_rejected(status: Fields, spec: Fields, wanted: Status) -> None:
    assert verdict(NodeReady(NoArgs()), pod_with(**spec), node_with(status=status)) == wanted


CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",), "NodeUnschedulable")
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "wanted"),
    [
        pytest.param([], CORDONED, id="no toleration"),
        pytest.param([{"key": KEY, "operator": "Exists", "effect": "NoSchedule"}], SUCCESS, id="Exists and the effect"),
        pytest.param([{"key": KEY, "operator": "Equal"}], SUCCESS, id="the taint's value is empty"),
        pytest.param([{"key": KEY, "operator": "Equal", "value": "a"}], CORDONED, id="another value"),
    ],
)
def test_cordoned_node_accepts_pods_that_tolerate_its_taint(tolerations: list[dict[str, str]], wanted: Status) -> None:
    plugin = NodeUnschedulable(NoArgs())
    assert verdict(plugin, pod_with(tolerations=tolerations), node_with(unschedulable=True)) == wanted


def test_ignores_taint_without_unschedulable_field() -> None:
    tainted = node_with(taints=[{"key": KEY, "effect": "NoSchedule"}])
    assert verdict(NodeUnschedulable(NoArgs()), pod_with(), tainted) == SUCCESS
