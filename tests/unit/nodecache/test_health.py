"""Whether the cache can be decided on."""

from __future__ import annotations

import pytest

from berth import __version__
from berth.configuration.store import Configurations
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.staleness import StalenessReason
from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.nodes import labelled
from tests.fakes.cache_tables import outage
from tests.fakes.verbs import Verbs


def health_of(verbs: Verbs) -> tuple[HealthOutcome, dict[str, object]]:
    return health(
        verbs.table, Configurations(verbs.store, BerthConfiguration), verbs.clock, StalenessReason(verbs.clock)
    )


def test_published_cache_is_ok_with_its_age() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.clock.advance(1.5)
    verbs.table.calls.clear()
    assert health_of(verbs) == (
        HealthOutcome.OK,
        {
            "status": "ok",
            "version": 1,
            "observedAgeSeconds": 1.5,
            "maxStalenessSeconds": 180.0,
            "heartbeatAgeSeconds": 1.5,
            "writerVersion": __version__,
            "configurationHash": "",
        },
    )
    assert verbs.table.calls == ["head"]


def test_data_beyond_max_staleness_of_applied_configuration_is_stale() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply('{"nodeCache": {"maxStaleness": 30}}')
    verbs.clock.advance(31)
    outcome, found = health_of(verbs)
    assert outcome is HealthOutcome.STALE
    assert (found["observedAgeSeconds"], found["maxStalenessSeconds"]) == (31.0, 30.0)
    assert found["reason"] == (
        "the node cache is of 2023-11-14T22:13:20Z, older than maxStaleness (30 s); does the watcher run?"
    )


def test_empty_cache_is_unavailable() -> None:
    assert health_of(Verbs(nodes=None)) == (
        HealthOutcome.UNAVAILABLE,
        {
            "status": "failure-cache-unavailable",
            "reason": "the node cache is empty: no watcher has published yet; is its schedule enabled?",
        },
    )


def test_unreadable_table_is_unavailable() -> None:
    outcome, found = health_of(Verbs(interrupted={"head": outage}))
    assert outcome is HealthOutcome.UNAVAILABLE
    assert found["reason"] == "node cache table berth-cache: the table is throttled (ThrottlingException)"


def test_configuration_that_verbs_cannot_read_is_unavailable() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply('{"kind": "Deployment"}')
    outcome, found = health_of(verbs)
    assert outcome is HealthOutcome.UNAVAILABLE
    assert found["reason"] == "the applied configuration: kind: Input should be 'BerthConfiguration'"


@pytest.mark.parametrize("outcome", HealthOutcome)
def test_outcomes_are_metric_names(outcome: HealthOutcome) -> None:
    assert outcome == outcome.lower()
