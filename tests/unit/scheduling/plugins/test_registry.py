"""The registry of the plugins that come with Berth."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.shipped_profiles import FULL, SHIPPED
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin

WITHOUT_ARGUMENTS = {
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodePorts",
    "ImageLocality",
    "NodeReady",
    "FloatingResources",
}


@pytest.mark.parametrize("name", SHIPPED_PLUGINS)
def test_registry_returns_plugin_and_arguments_by_name(name: str) -> None:
    found = shipped_plugin(name)
    plugin = found.plugin(found.args())
    assert plugin.name == name
    assert type(plugin).__name__ == name
    assert found.args.__name__ == ("NoArgs" if name in WITHOUT_ARGUMENTS else f"{name}Args")


def test_only_plugins_without_arguments_share_the_empty_arguments_type() -> None:
    assert {name for name in SHIPPED_PLUGINS if shipped_plugin(name).args is NoArgs} == WITHOUT_ARGUMENTS


def test_registry_contains_plugins_of_shipped_profiles() -> None:
    assert set(SHIPPED[FULL].plugins) <= set(SHIPPED_PLUGINS)


def test_registry_does_not_contain_custom_plugins() -> None:
    assert "berth_plugins.mine:Mine" not in SHIPPED_PLUGINS
