"""Metrics of the node cache's freshness in the verbs."""

from __future__ import annotations

import time

import pytest

from berth.runtime.telemetry.metrics import CacheMetrics
from tests.unit.runtime.telemetry.metric_lines import described, printed


def test_emits_age_and_lag_by_verb_and_age_by_stack(metrics: pytest.CaptureFixture[str]) -> None:
    CacheMetrics("filter", time.time).record(age=1.5, lag=3)
    [line] = printed(metrics)
    assert described(line) == {
        "CacheAge": ("Seconds", [["stack", "verb"], ["stack"]]),
        "VersionLag": ("Count", [["stack", "verb"]]),
    }
    assert (line["verb"], line["CacheAge"], line["VersionLag"]) == ("filter", [1.5], [3.0])


def test_counts_a_fallback_configuration_as_a_failure(metrics: pytest.CaptureFixture[str]) -> None:
    CacheMetrics("filter", time.time).fell_back()
    [line] = printed(metrics)
    assert described(line) == {"Failures": ("Count", [["stack", "verb"], ["stack"]])}
    assert line["Failures"] == [1.0]


def test_does_not_emit_lag_for_the_first_read_of_an_environment(metrics: pytest.CaptureFixture[str]) -> None:
    CacheMetrics("filter", time.time).record(age=1.5, lag=None)
    [line] = printed(metrics)
    assert "VersionLag" not in described(line)
