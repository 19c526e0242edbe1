"""Tests of MaxPerRack. Copy this file for a rule of your own that looks at the pods on all nodes."""

import pytest

from berth_plugins.max_per_rack import MaxPerRack
from berth_testing import PluginHarness, check_plugin, node, pod

RACK = "example.com/rack"
NODES = [node("left-1", {RACK: "left"}), node("left-2", {RACK: "left"}), node("right", {RACK: "right"}), node("spare")]
PODS = [
    pod("db-1", {"app": "db"}, on="left-1"),
    pod("db-2", {"app": "db"}, on="left-2"),
    pod("db-3", {"app": "db"}, on="right"),
    pod("db-4", {"app": "db"}, namespace="other", on="right"),
]
ALL = ["left-1", "left-2", "right", "spare"]


@pytest.fixture
def harness() -> PluginHarness:
    return PluginHarness.of(MaxPerRack, NODES, PODS)


@pytest.mark.parametrize(
    ("labels", "namespace", "nodes"),
    [
        pytest.param({"app": "db"}, "default", ["right"], id="two are in the left rack: the right one"),
        pytest.param({"app": "db"}, "other", ["left-1", "left-2", "right"], id="another namespace: every rack"),
        pytest.param({"app": "web"}, "default", ["left-1", "left-2", "right"], id="another application: every rack"),
        pytest.param({}, "default", ALL, id="no application: every node"),
    ],
)
def test_filter(harness: PluginHarness, labels: dict[str, str], namespace: str, nodes: list[str]) -> None:
    reasons = harness.filter(pod(labels=labels, namespace=namespace))
    assert [name for name, reason in reasons.items() if not reason] == nodes


def test_gives_a_reason_for_each_rejected_node(harness: PluginHarness) -> None:
    full = "node(s) were in a rack with enough pods of this application"
    assert harness.filter(pod(labels={"app": "db"})) == {
        "left-1": full,
        "left-2": full,
        "right": "",
        "spare": "node(s) had no rack label",
    }


def test_keeps_the_rules_of_plugins(harness: PluginHarness) -> None:
    waiting = [pod("db-5", {"app": "db"}), pod("web-1", {"app": "web"}), pod("none-1")]
    assert check_plugin(harness.create, harness.snapshot, waiting).findings == ()
