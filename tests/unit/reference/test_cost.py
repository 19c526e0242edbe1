"""The computed costs keep to the targets, and the page has one table of prices."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import PROJECT
from tools.cost import prices
from tools.cost.bill import Item, Mode, always_on, idle, million_decisions, total
from tools.cost.page import CLUSTERS, cost, sizes
from tools.cost.usage import read_usage

TEMPLATE = PROJECT / "template.yaml"
IDLE_DOLLARS = 15.0
"""A month of an idle cluster of up to 500 nodes with the continuous watcher, at list price."""
DECISIONS_DOLLARS = 10.0
"""A million decisions on 1,000 nodes, without data transfer."""


@pytest.mark.parametrize("nodes", [100, 500])
def test_idle_small_cluster_keeps_to_its_target(nodes: int) -> None:
    small = sizes(TEMPLATE)[CLUSTERS[nodes]]
    assert total(list(idle(read_usage(), nodes, small, Mode.CONTINUOUS))) <= IDLE_DOLLARS


def test_million_decisions_keep_to_their_target() -> None:
    medium = sizes(TEMPLATE)[CLUSTERS[1_000]]
    assert total(list(million_decisions(read_usage(), 1_000, medium))) <= DECISIONS_DOLLARS


def every_item() -> Iterator[Item]:
    usage, by_name = read_usage(), sizes(TEMPLATE)
    for nodes, name in CLUSTERS.items():
        for mode in Mode:
            yield from idle(usage, nodes, by_name[name], mode)
        yield from million_decisions(usage, nodes, by_name[name])


def test_every_price_is_in_the_table_with_its_source() -> None:
    assert {item.price for item in every_item()} <= set(prices.ALL)
    page = cost(TEMPLATE)
    for price in prices.ALL:
        assert f"| {price.what} |" in page
        assert price.source in page


def test_external_watcher_costs_no_lambda_for_watching() -> None:
    names = {item.what for item in idle(read_usage(), 500, sizes(TEMPLATE)["small"], Mode.EXTERNAL)}
    assert not any(name.startswith("Watcher") for name in names)


def test_comparison_is_for_two_replicas_and_a_month() -> None:
    assert all(item.quantity == 2 * 730 for item in always_on())
