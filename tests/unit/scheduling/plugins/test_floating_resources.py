"""Pools of floating resources: the amounts that are kept for waiting pods."""

from __future__ import annotations

import pytest

from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.plugins.floating_resources import FloatingResources, PoolUse
from berth.scheduling.snapshot.snapshot import Snapshot

POOL = "example.com/licence@cluster"


@pytest.mark.parametrize(("priority", "amount"), [(4, 7), (5, 4), (6, 4), (9, 0)])
def test_keeps_the_amounts_of_waiting_pods_with_higher_priority(priority: int, amount: int) -> None:
    use = PoolUse(Snapshot.of([]).history.moment, {}, {POOL: [(5, 3), (9, 4)]})
    assert use.kept(POOL, priority) == amount
    assert use.kept("example.com/other@cluster", priority) == 0


def test_counts_with_the_resources_of_the_policy() -> None:
    counting = Counting()
    assert FloatingResources().with_counting(counting).counting is counting
