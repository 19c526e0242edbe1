"""Tests of OnePerTeam, a rule about other pods. Copy this file for such a rule of your own."""

import pytest

from berth_plugins.one_per_team import OnePerTeam
from berth_testing import PluginHarness, check_plugin, node, pod

NODES = [node("one"), node("two")]
PODS = [pod("of-blue", {"team": "blue"}, on="one"), pod("of-none", on="two")]


@pytest.fixture
def harness() -> PluginHarness:
    return PluginHarness.of(OnePerTeam, NODES, PODS)


@pytest.mark.parametrize(
    ("labels", "nodes"),
    [
        pytest.param({"team": "blue"}, ["two"], id="a pod of a team: nodes without a pod of this team"),
        pytest.param({"team": "green"}, ["one", "two"], id="a pod of another team: every node"),
        pytest.param({}, ["one", "two"], id="a pod without a team: every node"),
    ],
)
def test_filter(harness: PluginHarness, labels: dict[str, str], nodes: list[str]) -> None:
    assert [name for name, reason in harness.filter(pod(labels=labels)).items() if not reason] == nodes


def test_gives_reason_for_rejected_node(harness: PluginHarness) -> None:
    assert harness.filter(pod(labels={"team": "blue"}))["one"] == "node(s) had a pod of this team"


def test_keeps_the_rules_of_plugins(harness: PluginHarness) -> None:
    waiting = [pod("blue-2", {"team": "blue"}), pod("green-1", {"team": "green"}), pod("none-1")]
    assert check_plugin(harness.create, harness.snapshot, waiting).findings == ()
