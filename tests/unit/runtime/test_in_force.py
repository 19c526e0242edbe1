"""A watcher notices that another configuration was applied, whoever of its parts asks first."""

from __future__ import annotations

import pytest

from berth.configuration.store import Configurations, hash_of
from berth.runtime.watcher.watcher_loop import CONFIGURATION_SECONDS, _InForce
from berth.scheduling.configuration.document import BerthConfiguration
from tests.fakes.clock import HandDrivenClock
from tests.fakes.configuration_store import InMemoryConfigurationStore
from tests.fakes.published import PublishedCluster

DOCUMENT = '{"profile": "resource-segregation"}'


def test_what_is_past_stays_so_for_everybody_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandDrivenClock()
    monkeypatch.setattr("berth.runtime.watcher.watcher_loop.time.monotonic", clock)
    published = PublishedCluster()
    store = InMemoryConfigurationStore(published.item)
    in_force = _InForce(published.table, Configurations(store, BerthConfiguration))
    store.apply(DOCUMENT)
    head = published.table.head()
    assert head is not None
    assert head.configuration_hash == hash_of(DOCUMENT)
    assert not in_force.is_past()

    clock.advance(CONFIGURATION_SECONDS)

    assert in_force.is_past()
    assert in_force.is_past()
