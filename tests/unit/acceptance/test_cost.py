"""The arithmetic of a run's cost."""

from __future__ import annotations

import pytest

from tools.acceptance.cost import FunctionUsage, TableUsage, cost


def test_a_function_costs_its_requests_and_gb_seconds() -> None:
    usage = FunctionUsage("filter", 2048, "arm64", 1_000_000, 1_000_000.0 * 10, 0, 0)
    assert usage.dollars == pytest.approx(0.20 + 2 * 10_000 * 0.0000133334)


def test_a_table_costs_its_units() -> None:
    assert TableUsage("CacheTable", 2e6, 8e6).dollars == pytest.approx(2.25)


def test_the_sum_includes_the_requests_of_the_api() -> None:
    lines = list(cost([], [TableUsage("CacheTable", 2e6, 0)], 1_000_000))
    assert lines[-1].startswith("Together $2.2500,")
