"""A watcher detects that another configuration was applied, whichever part of it checks first."""

from __future__ import annotations

from berth.configuration.store import Configurations, hash_of
from berth.runtime.watcher.watcher_function import CONFIGURATION_SECONDS, _AppliedConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from tests.fakes.cache_tables import CountingCacheTable
from tests.fakes.clock import HandDrivenClock
from tests.fakes.published import PublishedCluster

DOCUMENT = '{"profile": "resource-segregation"}'


def test_outdated_configuration_stays_outdated_for_every_caller() -> None:
    clock = HandDrivenClock()
    published = PublishedCluster()
    store = InMemoryConfigurationStore(published.item)
    applied = _AppliedConfiguration(published.table, Configurations(store, BerthConfiguration), clock)
    store.apply(DOCUMENT)
    head = published.table.head()
    assert head is not None
    assert head.configuration_hash == hash_of(DOCUMENT)
    assert not applied.is_outdated()

    clock.advance(CONFIGURATION_SECONDS)

    assert applied.is_outdated()
    assert applied.is_outdated()


def test_later_checks_read_the_head_with_eventual_consistency() -> None:
    """The run begins with the latest configuration, and an older one is long over at the first check."""
    clock = HandDrivenClock()
    published = PublishedCluster()
    table = CountingCacheTable(published.table)
    configurations = Configurations(InMemoryConfigurationStore(published.item), BerthConfiguration)
    applied = _AppliedConfiguration(table, configurations, clock)
    assert table.calls == ["head"]
    clock.advance(CONFIGURATION_SECONDS)
    assert not applied.is_outdated()
    assert table.calls == ["head", "head_eventually"]
