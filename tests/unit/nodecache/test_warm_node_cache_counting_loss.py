"""filter, prioritize and preempt do not use a configuration that does not count while the ledger counts."""

from __future__ import annotations

import pytest

from berth.configuration.store import COUNTING_LOST, Configurations, CountingLossCheck
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import PASSED
from berth.extender.outcomes import FailureOutcome
from berth.extender.ports import CacheUnavailable
from berth.ledger.nodes.table import Marker, MarkerState
from berth.nodecache.binds_under_way import BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.scheduling.configuration.document import BerthConfiguration, WhenStale
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import node
from tests.fakes.published import PublishedCluster

COUNTS = '{"profile": "managed-resources", "managedResources": [{"name": "example.com/slot"}]}'
MARKER = Marker(MarkerState.READY, 1, 0.0, "nonce")


class Filter:
    """The node cache of an environment, and a ledger that has a marker by default."""

    def __init__(self, *, has_marker: bool = True) -> None:
        self.warnings: list[str] = []
        self.marker_reads = 0
        self.is_available = True
        self.published = PublishedCluster()
        self.store = InMemoryConfigurationStore(self.published.item)
        self.ledger = InMemoryLedgerTable()
        if has_marker:
            self.ledger.put_marker(MARKER, None)
        self.cache = WarmNodeCache(
            self.published.table,
            NodeCacheReader(self.published.table, SnapshotView(), lambda seconds: None),
            Configurations(self.store, lambda: BerthConfiguration.model_validate({"nodeCache": {"whenStale": "pass"}})),
            self.published.clock,
            self.warnings.append,
            BindsUnderWay(self.ledger, None),
            loss=CountingLossCheck(self.marker, self.store.counting_is_stopped, self.published.clock),
        )
        self.published.publish_nodes([node("node-a")])

    def marker(self) -> Marker | None:
        self.marker_reads += 1
        if not self.is_available:
            raise TableUnavailable("throttled")
        return self.ledger.marker()


def test_lost_counting_is_refused_even_if_stale_data_passes() -> None:
    assert Filter().cache.current().cluster == CacheUnavailable(
        COUNTING_LOST, WhenStale.FAIL, FailureOutcome.COUNTING_LOST
    )


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param(Filter(has_marker=False), id="the ledger never counted"),
        pytest.param(Filter(), id="counting was stopped"),
    ],
)
def test_uses_a_configuration_that_does_not_count_if_counting_was_stopped(environment: Filter) -> None:
    environment.store.apply('{"profile": "full"}', stops_counting=True)
    for _ in range(3):
        assert isinstance(environment.cache.current().cluster, Snapshot)
    assert environment.marker_reads == 1


def test_does_not_read_the_marker_while_resources_are_counted() -> None:
    environment = Filter()
    environment.store.apply(COUNTS)
    assert isinstance(environment.cache.current().cluster, Snapshot)
    assert environment.marker_reads == 0


def test_decides_with_a_warning_while_the_ledger_is_unavailable() -> None:
    environment = Filter()
    environment.is_available = False
    assert isinstance(environment.cache.current().cluster, Snapshot)
    assert environment.warnings == ["throttled; whether resources should be counted is unknown"]


def test_refuses_without_a_read_if_counting_is_known_to_be_lost() -> None:
    environment = Filter()
    environment.cache.current()
    assert environment.cache.current(PASSED).cluster == CacheUnavailable(
        COUNTING_LOST, WhenStale.FAIL, FailureOutcome.COUNTING_LOST
    )


def test_decides_without_a_read_when_the_configuration_counts_again() -> None:
    environment = Filter()
    environment.cache.current()
    environment.store.apply(COUNTS)
    environment.cache.current()
    assert isinstance(environment.cache.current(PASSED).cluster, Snapshot)
