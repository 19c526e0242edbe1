"""The registry of the plugins that come with Berth."""

from __future__ import annotations

import pytest

from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin


@pytest.mark.parametrize("name", SHIPPED_PLUGINS)
def test_registry_returns_plugin_and_arguments_by_name(name: str) -> None:
    found = shipped_plugin(name)
    plugin = found.plugin(found.args())
    assert plugin.name == type(plugin).__name__ == name
    assert found.args.__name__ in (f"{name}Args", "NoArgs")
