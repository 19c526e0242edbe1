"""Start of a function's environment: it reads its settings and does not connect to anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from berth.runtime.http.events import WARM_UP_EVENT, configuration_trial
from tests.builders.events import http_event
from tests.builders.requests import body_of, cache_mode

Load = Callable[..., Callable[..., Any]]
VERBS = ["filter", "filter_onlyone", "prioritize"]


@pytest.mark.parametrize("name", ["filter", "filter_onlyone", "prioritize", "preempt", "healthz"])
def test_function_starts_even_if_its_table_is_missing(load_function: Load, name: str) -> None:
    load_function(name, {"BERTH_CACHE_TABLE": "absent"})


@pytest.mark.parametrize("name", ["bind", "watcher"])
def test_function_starts_even_if_its_cluster_is_missing(load_function: Load, name: str) -> None:
    load_function(name, {"BERTH_KUBECONFIG": "/absent/kubeconfig"})


@pytest.mark.parametrize("name", VERBS)
def test_starts_with_invalid_configuration_and_reports_it_on_each_call(load_function: Load, name: str) -> None:
    handler = load_function(name, {"BERTH_CONFIGURATION": '{"profile": "labels"}'})
    answer = handler(http_event(body_of(cache_mode(["n10"])), f"POST /scheduler/{name}"), None)
    assert "BERTH_CONFIGURATION: profile: Input should be 'label-priority'" in answer["body"]


@pytest.mark.parametrize("name", VERBS)
def test_uses_configured_plugin_arguments(load_function: Load, name: str) -> None:
    document = '{"pluginConfig": [{"name": "NodePriorityLabel", "args": {"label": "kubernetes.io/hostname"}}]}'
    cache = load_function(name, {"BERTH_CONFIGURATION": document}).__globals__["cache"]
    [plugin] = cache.policy().profile.filters
    assert plugin.label == "kubernetes.io/hostname"


@pytest.mark.parametrize("name", [*VERBS, "preempt"])
def test_warm_up_event_loads_the_snapshot_and_returns_its_version(load_function: Load, name: str) -> None:
    handler = load_function(name, {})
    cache = handler.__globals__["cache"]
    assert cache.reader.version == 0
    answer = handler(WARM_UP_EVENT, None)
    assert cache.reader.version > 0
    assert answer["body"] == f'{{"version":{cache.reader.version}}}'


@pytest.mark.parametrize("name", [*VERBS, "preempt"])
def test_configuration_trial_does_not_load_anything_for_later_calls(load_function: Load, name: str) -> None:
    handler = load_function(name, {})
    answer = handler(configuration_trial('{"profile": "full"}'), None)
    assert '"nodes":' in answer["body"]
    assert handler.__globals__["cache"].reader.version == 0
