"""Token buckets by key."""

from __future__ import annotations

from berth.upkeep.pod_events import SWEEP_AT, TokenBuckets


def test_gives_a_burst_and_then_one_token_in_each_interval() -> None:
    buckets = TokenBuckets(3, 10.0)
    assert [buckets.take("a", 0.0) for _ in range(5)] == [True] * 3 + [False] * 2
    assert [buckets.take("a", at) for at in (5.0, 10.0, 11.0, 20.0)] == [False, True, False, True]
    assert [buckets.take("a", 1000.0) for _ in range(4)] == [True] * 3 + [False]
    assert buckets.take("b", 1000.0)


def test_forgets_full_buckets_only() -> None:
    buckets = TokenBuckets(1, 10.0)
    for number in range(SWEEP_AT):
        buckets.take(str(number), 0.0)
    assert buckets.take("empty", 9.0)
    assert not buckets.take("0", 9.0)
    assert buckets.take("another", 12.0)
    assert len(buckets._buckets) == 2
    assert not buckets.take("empty", 12.0)
