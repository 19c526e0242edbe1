"""Tests of TeamNodes. Copy this file for a plugin of your own, and run it with pytest in the folder above."""

import pytest

from berth_plugins.team_nodes import TeamNodes
from berth_testing import PluginHarness, check_plugin, node, pod

TEAM = "example.com/team"
NODES = [node("blue", {TEAM: "blue"}), node("green", {TEAM: "green"}), node("shared")]


@pytest.fixture
def harness() -> PluginHarness:
    return PluginHarness.of(TeamNodes, NODES, args={"label": TEAM})


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        pytest.param({TEAM: "blue"}, ["blue", "shared"], id="a pod of a team: its nodes and those without a team"),
        pytest.param({}, ["shared"], id="a pod without a team: nodes without a team"),
    ],
)
def test_filter(harness: PluginHarness, labels: dict[str, str], nodes: list[str]) -> None:
    assert [name for name, reason in harness.filter(pod(labels=labels)).items() if not reason] == nodes


def test_gives_reason_for_rejected_node(harness: PluginHarness) -> None:
    assert harness.filter(pod())["blue"] == "node(s) belonged to another team"


def test_prefers_nodes_of_the_team(harness: PluginHarness) -> None:
    assert harness.scores(pod(labels={TEAM: "blue"})) == {"blue": 100, "shared": 0}


def test_keeps_the_rules_of_plugins(harness: PluginHarness) -> None:
    pods = [pod("of-blue", {TEAM: "blue"}), pod("of-none"), pod("on-shared", {TEAM: "green"}, on="shared")]
    assert check_plugin(harness.create, harness.snapshot, pods).findings == ()
