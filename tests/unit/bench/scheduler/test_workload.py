"""What is counted of the nodes of the benchmark."""

from __future__ import annotations

import pytest

from tests.bench import cluster
from tests.bench.scheduler.workload import COUNTED_NODES, SLOTS, overcommitted

COUNTED, OTHER = cluster.node_name(0), cluster.node_name(COUNTED_NODES)


@pytest.mark.parametrize(
    ("units", "nodes"),
    [
        pytest.param({COUNTED: SLOTS}, 0, id="all slots"),
        pytest.param({COUNTED: SLOTS + 1, cluster.node_name(1): SLOTS + 2}, 2, id="more than the slots"),
        pytest.param({OTHER: 1}, 1, id="a node that has none"),
        pytest.param({}, 0, id="no pods"),
    ],
)
def test_node_with_more_units_than_slots_is_overcommitted(units: dict[str, int], nodes: int) -> None:
    assert overcommitted(units) == nodes
