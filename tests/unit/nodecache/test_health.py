"""The health check: whether verbs can use the node cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth import __version__
from berth.configuration.store import COUNTING_LOST, Configurations, CountingLossCheck
from berth.ledger.nodes.table import Marker, MarkerState
from berth.nodecache.health import HealthOutcome, health
from berth.nodecache.warm_node_cache import StalenessReason
from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.custom_plugins import NAMED, installed_plugins
from tests.builders.nodes import labelled
from tests.fakes.cache_tables import outage
from tests.fakes.verbs import Verbs


def health_of(verbs: Verbs, loss: CountingLossCheck | None = None) -> tuple[HealthOutcome, dict[str, object]]:
    configurations = Configurations(verbs.store, BerthConfiguration)
    return health(verbs.table, configurations, verbs.clock, StalenessReason(verbs.clock), loss)


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


def test_data_older_than_max_staleness_of_the_applied_configuration_is_stale() -> None:
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


def test_configuration_unreadable_by_verbs_is_unavailable() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply('{"managedResources": [{"name": "example.com/slot", "fieldOfLaterRelease": 1}]}')
    outcome, found = health_of(verbs)
    assert outcome is HealthOutcome.UNAVAILABLE
    assert "managedResources.0.fieldOfLaterRelease" in str(found["reason"])


@pytest.mark.parametrize(
    ("documents", "used"),
    [
        pytest.param(['{"profile": "full"}', '{"kind": "Deployment"}'], "version 1", id="the previous document"),
        pytest.param(['{"kind": "Deployment"}'], "the deployed configuration", id="no document was applied before"),
    ],
)
def test_reports_that_a_fallback_configuration_is_in_use(documents: list[str], used: str) -> None:
    verbs = Verbs([labelled("n1", "10")])
    for document in documents:
        verbs.store.apply(document)
    outcome, found = health_of(verbs)
    assert outcome is HealthOutcome.OK
    assert f"{used} is used instead" in str(found["configurationFallback"])


@pytest.mark.parametrize("differs", [False, True])
def test_reports_plugin_version_and_difference(tmp_path: Path, differs: bool) -> None:
    verbs = Verbs([labelled("n1", "10")])
    with installed_plugins(tmp_path) as version:
        verbs.store.apply(NAMED, plugin_version="0.9.0+a" if differs else version)
        outcome, found = health_of(verbs)
    assert (outcome, found["pluginVersion"]) == (HealthOutcome.OK, version)
    assert ("but the configuration was applied with 0.9.0+a" in str(found.get("pluginDifference"))) is differs


@pytest.mark.parametrize(
    ("document", "outcome"),
    [
        pytest.param('{"profile": "full"}', HealthOutcome.COUNTING_LOST, id="nothing is counted"),
        pytest.param('{"managedResources": [{"name": "example.com/slot"}]}', HealthOutcome.OK, id="counted as well"),
    ],
)
def test_configuration_that_does_not_count_fails_while_the_ledger_counts(document: str, outcome: HealthOutcome) -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply(document)
    marker = Marker(MarkerState.READY, 1, 0.0, "nonce")
    loss = CountingLossCheck(lambda: marker, verbs.store.counting_is_stopped, verbs.clock)
    found, report = health(
        verbs.table, Configurations(verbs.store, BerthConfiguration), verbs.clock, StalenessReason(verbs.clock), loss
    )
    assert (found, report["status"]) == (outcome, outcome)
    assert report.get("reason", COUNTING_LOST) == COUNTING_LOST
