"""The text format of Prometheus: a histogram of calls, and gauges."""

from __future__ import annotations

import pytest

from berth.upkeep.gangs import GangEvent, GangEventType
from berth_cli.serve.endpoints.prometheus import (
    BUCKETS,
    CALLS,
    GANG_COMMITS,
    GANG_EVENTS,
    NO_NODE_FITS,
    CallDurations,
    GangEvents,
)
from tests.builders.gang_items import TRAIN


def samples(calls: CallDurations) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in calls.lines() if not line.startswith("#"))


def test_buckets_are_cumulative() -> None:
    calls = CallDurations()
    for milliseconds in (0.5, 1.0, 2.0, 9000.0):
        calls.record("filter", "decided", milliseconds)
    found = samples(calls)
    labels = 'verb="filter",outcome="decided"'
    buckets = [int(found[f'{CALLS}_bucket{{{labels},le="{bound}"}}']) for bound in (*BUCKETS, "+Inf")]
    assert buckets[:2] == [2, 3]
    assert buckets[-2:] == [3, 4]
    assert buckets == sorted(buckets)
    assert found[f"{CALLS}_count{{{labels}}}"] == "4"
    assert float(found[f"{CALLS}_sum{{{labels}}}"]) == pytest.approx(9.0035)


def test_each_verb_and_outcome_has_its_own_series() -> None:
    calls = CallDurations()
    for verb, outcome in (("filter", "decided"), ("filter", "failure-internal"), ("bind", "decided")):
        calls.record(verb, outcome, 1)
    counts = {name for name in samples(calls) if "_count" in name}
    assert counts == {
        f'{CALLS}_count{{verb="{verb}",outcome="{outcome}"}}'
        for verb, outcome in (("filter", "decided"), ("filter", "failure-internal"), ("bind", "decided"))
    }


def test_counts_calls_that_no_node_fits_by_reason() -> None:
    calls = CallDurations()
    for code in ("UntoleratedTaint", "", "UntoleratedTaint"):
        calls.record("filter", "none-feasible", 1, code)
    labels = 'verb="filter",reason_code="UntoleratedTaint"'
    assert {name: value for name, value in samples(calls).items() if name.startswith(NO_NODE_FITS)} == {
        f"{NO_NODE_FITS}{{{labels}}}": "2"
    }


def test_counts_what_became_of_gangs_and_how_long_commits_took() -> None:
    gangs = GangEvents()
    for event in (
        GangEvent(GangEventType.OPENED, TRAIN),
        GangEvent(GangEventType.COMMITTED, TRAIN, 4, seconds=0.7),
        GangEvent(GangEventType.COMMITTED, TRAIN, 4, seconds=400.0),
        GangEvent(GangEventType.DEGRADED, TRAIN, 3, minimum=4),
    ):
        gangs.record(event)
    found = dict(line.rsplit(" ", 1) for line in gangs.lines() if not line.startswith("#"))
    happened = {"opened": "1", "committed": "2", "timed-out": "0", "degraded": "1", "forgotten": "0"}
    assert {name: value for name, value in found.items() if name.startswith(GANG_EVENTS)} == {
        f'{GANG_EVENTS}{{happening="{happening}"}}': count for happening, count in happened.items()
    }
    assert [found[f'{GANG_COMMITS}_bucket{{le="{bound}"}}'] for bound in ("0.5", "1.0", "300.0", "+Inf")] == list(
        "0112"
    )
    assert found[f"{GANG_COMMITS}_count"] == "2"
