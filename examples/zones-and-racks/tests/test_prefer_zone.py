"""Tests of PreferZone. Copy this file for a rule of your own that only scores."""

import pytest

from berth_plugins.prefer_zone import ZONE, PreferZone
from berth_testing import PluginHarness, check_plugin, node, pod


@pytest.fixture
def harness() -> PluginHarness:
    nodes = [node("in-a", {ZONE: "a"}), node("in-b", {ZONE: "b"}), node("nowhere")]
    return PluginHarness.of(PreferZone, nodes, args={"zone": "a"})


def test_prefers_the_zone_and_rejects_no_node(harness: PluginHarness) -> None:
    assert harness.scores(pod()) == {"in-a": 100, "in-b": 0, "nowhere": 0}


def test_keeps_the_rules_of_plugins(harness: PluginHarness) -> None:
    assert check_plugin(harness.create, harness.snapshot, [pod("one"), pod("two")]).findings == ()
