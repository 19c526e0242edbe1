"""Whether the cache can be decided on."""

from __future__ import annotations

import pytest

from berth.nodecache.head import SCHEMA_VERSION
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.in_memory_table import InMemoryCacheTable
from tests.builders.heads import AT, head
from tests.fakes.cache_tables import CountingCacheTable, InterruptedCacheTable, outage


def test_a_published_cache_is_ok_and_says_how_old_it_is() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    table.publish(head(7), None)
    table.calls.clear()
    assert health(table, lambda: AT + 1.5) == (
        HealthOutcome.OK,
        {
            "status": "ok",
            "version": 7,
            "observedAgeSeconds": 1.5,
            "heartbeatAgeSeconds": 1.5,
            "writerVersion": "0.1.0",
        },
    )
    assert table.calls == ["head"]


def test_an_empty_cache_is_unavailable() -> None:
    assert health(InMemoryCacheTable(), lambda: AT) == (
        HealthOutcome.UNAVAILABLE,
        {
            "status": "failure-cache-unavailable",
            "reason": "the node cache is empty: no watcher has published yet; is its schedule enabled?",
        },
    )


def test_a_table_that_cannot_be_read_is_unavailable() -> None:
    outcome, found = health(InterruptedCacheTable(InMemoryCacheTable(), {"head": outage}), lambda: AT)
    assert outcome is HealthOutcome.UNAVAILABLE
    assert found["reason"] == "node cache table berth-cache: the table is throttled (ThrottlingException)"


def test_a_cache_that_the_verbs_cannot_read_is_unavailable() -> None:
    table = InMemoryCacheTable()
    table.publish(head(schema_version=SCHEMA_VERSION + 1), None)
    outcome, found = health(table, lambda: AT)
    assert outcome is HealthOutcome.UNAVAILABLE
    assert found["reason"] == "the node cache was written by a newer release; update this function"


@pytest.mark.parametrize("outcome", HealthOutcome)
def test_its_outcomes_are_words_for_a_metric(outcome: HealthOutcome) -> None:
    assert outcome == outcome.lower()
