"""Pools of floating resources: the amounts kept for waiting pods, and the amounts of pods added for a trial."""

from __future__ import annotations

import pytest

from berth.scheduling.framework.plugin import ClusterFilter, Code
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.plugins.floating_resources import FloatingResources, PoolUse
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import LICENCE, asking, counted_node, counting

POOL = "example.com/licence@cluster"


@pytest.mark.parametrize(("priority", "amount"), [(4, 7), (5, 4), (6, 4), (9, 0)])
def test_keeps_the_amounts_of_waiting_pods_with_higher_priority(priority: int, amount: int) -> None:
    use = PoolUse(Snapshot.of([]).history.moment, {}, {POOL: [(5, 3), (9, 4)]})
    assert use.kept(POOL, priority) == amount
    assert use.kept("example.com/other@cluster", priority) == 0


def test_counts_with_the_resources_of_the_policy() -> None:
    counting = Counting()
    assert FloatingResources().with_counting(counting).counting is counting


def test_counts_a_pod_that_is_added_for_a_trial_until_it_is_removed() -> None:
    plugin = FloatingResources().with_counting(
        counting({"name": LICENCE, "capacity": {"value": 1, "scope": "cluster"}})
    )
    node, first, second = counted_node(), asking("first", "n", licence="1"), asking("second", licence="1")
    state = plugin.pre_filter(second, Snapshot.of([node]))
    assert isinstance(state, ClusterFilter)
    with_first = state.with_pod(first, node)
    verdicts = [each.filter(node).code for each in (state, with_first, with_first.without_pod(first, node))]
    assert verdicts == [Code.SUCCESS, Code.UNSCHEDULABLE, Code.SUCCESS]
