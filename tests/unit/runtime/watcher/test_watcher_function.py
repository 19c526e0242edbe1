"""A watcher detects that another configuration was applied, reports it to every caller, and runs again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from berth.configuration.store import Configurations, hash_of
from berth.runtime.watcher import watcher_function
from berth.runtime.watcher.watcher_function import CONFIGURATION_SECONDS, _AppliedConfiguration, watch
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
    """The run begins with the latest configuration. By the first check, no read returns an older one."""
    clock = HandDrivenClock()
    published = PublishedCluster()
    table = CountingCacheTable(published.table)
    configurations = Configurations(InMemoryConfigurationStore(published.item), BerthConfiguration)
    applied = _AppliedConfiguration(table, configurations, clock)
    assert table.calls == ["head"]
    clock.advance(CONFIGURATION_SECONDS)
    assert not applied.is_outdated()
    assert table.calls == ["head", "head_eventually"]


@pytest.mark.parametrize(
    ("is_over", "is_outdated", "has_stale_epoch", "runs"),
    [
        pytest.param(False, True, False, 2, id="another configuration"),
        pytest.param(False, False, True, 2, id="a stale epoch"),
        pytest.param(False, False, False, 1, id="neither"),
        pytest.param(True, True, True, 1, id="no time left"),
    ],
)
def test_runs_again_while_there_is_time_and_a_reason(
    monkeypatch: pytest.MonkeyPatch, *, is_over: bool, is_outdated: bool, has_stale_epoch: bool, runs: int
) -> None:
    results = iter([(is_outdated, has_stale_epoch, 1), (False, False, 2)])

    def run(*_: object) -> Any:
        outdated, stale, number = next(results)
        applied.is_outdated = lambda: outdated
        return SimpleNamespace(execute=lambda *_: number, has_stale_epoch=stale)

    applied = SimpleNamespace(configured=None, is_outdated=lambda: False)
    for name in ("connect", "restore_configuration"):
        monkeypatch.setattr(watcher_function, name, lambda *_: None)
    monkeypatch.setattr(watcher_function, "_AppliedConfiguration", lambda *_: applied)
    monkeypatch.setattr(watcher_function, "WatcherRun", run)
    invocation: Any = SimpleNamespace(settings=None, limit=SimpleNamespace(is_over=lambda: is_over))
    adapters: Any = SimpleNamespace(tables=SimpleNamespace(cache=None), configurations=None)
    found: object = watch(invocation, adapters)
    assert found == runs
