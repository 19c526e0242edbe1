"""NodeName: pods that name their node."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_affinity import NodeName
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import verdict

OTHER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match the requested node name",), "NodeName")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param(None, SUCCESS, id="no node name"),
        pytest.param("", SUCCESS, id="an empty node name"),
        pytest.param("n", SUCCESS, id="this node"),
        pytest.param("m", OTHER, id="another node"),
        pytest.param("N", OTHER, id="case matters"),
    ],
)
def test_filters_by_node_name(name: str | None, wanted: Status) -> None:
    assert verdict(NodeName(NoArgs()), pod_with(nodeName=name), node_with("n")) == wanted
