"""NodeUnschedulable: cordoned nodes."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_taints import NodeUnschedulable
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import verdict

CORDONED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) were unschedulable",), "NodeUnschedulable")
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "wanted"),
    [
        pytest.param([], CORDONED, id="no toleration"),
        pytest.param([{"key": KEY, "operator": "Exists", "effect": "NoSchedule"}], SUCCESS, id="Exists and the effect"),
        pytest.param([{"key": KEY, "operator": "Exists"}], SUCCESS, id="any effect"),
        pytest.param([{"operator": "Exists"}], SUCCESS, id="every taint"),
        pytest.param([{"key": KEY, "operator": "Equal"}], SUCCESS, id="the taint's value is empty"),
        pytest.param([{"key": KEY, "operator": "Equal", "value": "a"}], CORDONED, id="another value"),
        pytest.param([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], CORDONED, id="another effect"),
        pytest.param([{"key": "dedicated", "operator": "Exists"}], CORDONED, id="another key"),
    ],
)
def test_cordoned_node_accepts_pods_that_tolerate_its_taint(tolerations: list[dict[str, str]], wanted: Status) -> None:
    plugin = NodeUnschedulable(NoArgs())
    assert verdict(plugin, pod_with(tolerations=tolerations), node_with(unschedulable=True)) == wanted


def test_ignores_taint_without_unschedulable_field() -> None:
    tainted = node_with(taints=[{"key": KEY, "effect": "NoSchedule"}])
    assert verdict(NodeUnschedulable(NoArgs()), pod_with(), tainted) == SUCCESS
