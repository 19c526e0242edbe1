"""`ControlLoop.rejection`: why one node rejects a pod, given the pods that were placed before."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.control_loop import ControlLoop, control_loop_of
from tests.unit.cli.placement import objects

GANGS = BerthConfiguration.model_validate({"profile": "full", "gangs": {"enabled": True}})
RANKED = BerthConfiguration.model_validate(
    {"profile": "label-priority", "pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "rank"}}]}
)


def loop(configuration: BerthConfiguration = RANKED) -> ControlLoop:
    """Return a loop on nodes `ranked` and `plain`, of 4 cpus each; by default Berth requires a rank."""
    nodes = [read_node(objects.node("ranked", rank="1")), read_node(objects.node("plain"))]
    return control_loop_of(configuration, Snapshot.of(each for each in nodes if isinstance(each, NodeInfo)))


def members(size: int) -> list[Pod]:
    found = [read_pod(each) for each in objects.gang(size)]
    return [each for each in found if isinstance(each, Pod)]


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
        pytest.param(pod("p", cpu="9"), "plain", "NodeResourcesFit", id="the scheduler's plugin before Berth's"),
    ],
)
def test_returns_the_plugin_that_rejects_the_node(asked: Pod, node: str, plugin: str | None) -> None:
    found = loop().rejection(asked, node)
    assert (None if found is None else found.plugin) == plugin


def test_takes_earlier_placed_pods_into_account() -> None:
    scheduler = loop()
    assert scheduler.schedule(pod("first", cpu="3")).node == "ranked"
    found = scheduler.rejection(pod("second", cpu="3"), "ranked")
    assert found is not None
    assert found.message == "Insufficient cpu"


def test_placed_gang_member_is_evaluated_on_the_state_before_its_placement() -> None:
    first, second = members(2)
    scheduler = loop(GANGS)
    outcomes = scheduler.run([first, second])
    taken = next(outcomes).node
    left = "plain" if taken == "ranked" else "ranked"
    assert scheduler.rejection(second, left) is None
    assert next(outcomes).node == left


def test_member_is_rejected_on_a_node_planned_for_another_member() -> None:
    """A request with only this node would give the node to this member."""
    first, second = members(2)
    scheduler = loop(GANGS)
    taken = next(scheduler.run([first, second])).node
    found = scheduler.rejection(second, taken)
    assert found is not None
    assert (found.plugin, found.message) == ("Gang", "gang has its places on other nodes")


def test_member_is_evaluated_with_its_whole_gang_on_all_nodes() -> None:
    scheduler = loop(GANGS)
    outcomes = scheduler.run(members(3))
    found = scheduler.rejection(members(3)[0], "plain")
    assert found is not None
    assert (found.plugin, found.message) == ("Gang", "gang does not fit")
    assert [each.node for each in outcomes] == ["", "", ""]
