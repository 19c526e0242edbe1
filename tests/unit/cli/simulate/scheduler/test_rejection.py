"""`ControlLoop.rejection`: why one node rejects a pod, beside what other pods were placed before."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.simulate.scheduler.control_loop import ControlLoop, control_loop_of
from tests.unit.cli.simulate.what_if import objects

RANKED = BerthConfiguration.model_validate(
    {"profile": "label-priority", "pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "rank"}}]}
)


def loop() -> ControlLoop:
    """Nodes `ranked` and `plain`, of 4 cpus each; Berth wants a rank."""
    nodes = [read_node(objects.node("ranked", rank="1")), read_node(objects.node("plain"))]
    return control_loop_of(RANKED, Snapshot.of(each for each in nodes if isinstance(each, NodeInfo)))


def pod(name: str, **spec: str) -> Pod:
    found = read_pod(objects.pod(name, **spec))
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    ("asked", "node", "plugin"),
    [
        pytest.param(pod("p"), "ranked", None, id="feasible"),
        pytest.param(pod("p", cpu="9"), "ranked", "NodeResourcesFit", id="the scheduler's plugin"),
        pytest.param(pod("p"), "plain", "NodePriorityLabel", id="Berth's plugin"),
        pytest.param(pod("p", cpu="9"), "plain", "NodeResourcesFit", id="the scheduler's before Berth's"),
    ],
)
def test_names_the_plugin_that_rejects_the_node(asked: Pod, node: str, plugin: str | None) -> None:
    found = loop().rejection(asked, node)
    assert (None if found is None else found.plugin) == plugin


def test_sees_pods_that_were_placed_before() -> None:
    scheduler = loop()
    assert scheduler.schedule(pod("first", cpu="3")).node == "ranked"
    found = scheduler.rejection(pod("second", cpu="3"), "ranked")
    assert found is not None
    assert found.message == "Insufficient cpu"
