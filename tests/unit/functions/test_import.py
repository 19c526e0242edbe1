"""What a function does when its environment starts: it reads its settings and touches nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from berth.runtime.settings import SettingsInvalid

Load = Callable[..., Callable[..., Any]]
VERBS = ["filter", "filter_onlyone", "prioritize"]


@pytest.mark.parametrize("name", ["filter", "filter_onlyone", "prioritize", "preempt", "healthz"])
def test_it_starts_without_its_table(load_function: Load, name: str) -> None:
    load_function(name, {"BERTH_CACHE_TABLE": "absent"})


@pytest.mark.parametrize("name", ["bind", "watcher"])
def test_it_starts_without_its_cluster(load_function: Load, name: str) -> None:
    load_function(name, {"BERTH_KUBECONFIG": "/absent/kubeconfig"})


@pytest.mark.parametrize("name", ["filter", "filter_onlyone", "prioritize", "preempt", "healthz"])
def test_it_does_not_start_without_the_tables_name(load_function: Load, name: str) -> None:
    with pytest.raises(SettingsInvalid, match="BERTH_CACHE_TABLE"):
        load_function(name, {"BERTH_CACHE_TABLE": ""})


@pytest.mark.parametrize("name", ["bind", "watcher"])
def test_it_does_not_start_without_a_cluster(load_function: Load, name: str) -> None:
    with pytest.raises(SettingsInvalid, match="BERTH_KUBECONFIG_SECRET"):
        load_function(name, {})


@pytest.mark.parametrize("name", VERBS)
def test_it_does_not_start_with_a_configuration_that_is_wrong(load_function: Load, name: str) -> None:
    with pytest.raises(SettingsInvalid, match="profile"):
        load_function(name, {"BERTH_CONFIGURATION": '{"profile": "labels"}'})


@pytest.mark.parametrize("name", VERBS)
def test_the_configuration_decides(load_function: Load, name: str) -> None:
    document = '{"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "kubernetes.io/hostname"}}]}'
    policy = load_function(name, {"BERTH_CONFIGURATION": document}).__globals__["policy"]
    [plugin] = policy.profile.filters
    assert plugin._label == "kubernetes.io/hostname"
