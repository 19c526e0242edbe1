"""NodeReady, Berth's own: nodes that are not running or not ready."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_taints import NodeReady
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import verdict


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
        pytest.param(
            ready("Unknown"), tolerating("unreachable"), SUCCESS, id="a pod that tolerates the unreachable taint"
        ),
        pytest.param(ready("Unknown"), tolerating("not-ready"), NOT_READY, id="another taint"),
        pytest.param(
            ready("False"), tolerating("not-ready", "NoExecute"), NOT_READY, id="a NoExecute toleration is not enough"
        ),
        pytest.param({"phase": "Pending"}, {}, NOT_RUNNING, id="pending"),
        pytest.param({"phase": "Terminated"}, {}, NOT_RUNNING, id="terminated"),
        pytest.param({"phase": "Running"}, {}, SUCCESS, id="running"),
    ],
)
def test_filters_by_ready_condition(status: Fields, spec: Fields, wanted: Status) -> None:
    assert verdict(NodeReady(NoArgs()), pod_with(**spec), node_with(status=status)) == wanted
