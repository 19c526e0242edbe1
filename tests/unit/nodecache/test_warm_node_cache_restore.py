"""A process that is restored from its image (SnapStart) or thawed much later reads before it responds.

The wall clock is right again; the monotonic clock may have paused or continued, or may be another machine's.
"""

from __future__ import annotations

import time

import pytest

from berth.bind.rules import RulesInForce
from berth.bind.share import Reservations
from berth.configuration.store import Configurations, CountingLossCheck
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import labelled
from tests.fakes.cache_tables import CountingCacheTable
from tests.fakes.published import PublishedCluster
from tests.unit.lease.clocks import EnvironmentClock

HOUR = 3600.0
MONOTONIC = [
    pytest.param(0.0, id="the monotonic clock stood still"),
    pytest.param(HOUR, id="the monotonic clock advanced"),
    pytest.param(-90.0, id="the monotonic clock of another machine is behind"),
]


class RestoredClock(EnvironmentClock):
    """The clocks of the environment in the image, and after `restore` the clocks of a restored environment."""

    def restore(self, monotonic: float) -> None:
        self.set_wall(HOUR)
        self._monotonic += monotonic


class Image:
    """An environment that had responded when its image was taken, and a cluster that continued without it."""

    def __init__(self, **node_cache: object) -> None:
        self.cluster = PublishedCluster()
        self.cluster.publish_nodes([labelled("n1", "10")])
        self.clock = RestoredClock()
        self.table = CountingCacheTable(self.cluster.table)
        document = BerthConfiguration.model_validate({"nodeCache": node_cache})
        configurations = Configurations(InMemoryConfigurationStore(self.cluster.item), lambda: document)
        reader = NodeCacheReader(self.table, SnapshotView(), self.clock.advance)
        self.cache = WarmNodeCache(self.table, reader, configurations, self.clock, pytest.fail)
        reservations = Reservations(InMemoryLedgerTable(), lambda: "id", time.time, call_seconds=1)
        self.counted = RulesInForce(
            self.table.configuration_hash,
            configurations,
            reservations,
            self.clock,
            pytest.fail,
            CountingLossCheck(lambda: None, lambda: False, self.clock),
        )
        assert isinstance(self.cache.current().cluster, Snapshot)
        self.counted.current()
        self.table.calls.clear()

    def restore(self, monotonic: float) -> None:
        self.cluster.clock.advance(HOUR)
        self.clock.restore(monotonic)


@pytest.mark.parametrize("monotonic", MONOTONIC)
@pytest.mark.parametrize(
    "node_cache",
    [
        pytest.param({}, id="as configured by default"),
        pytest.param({"minHeadReadInterval": 30}, id="with an interval between reads of the head"),
    ],
)
def test_reads_the_head_before_responding_after_a_restore(monotonic: float, node_cache: dict[str, object]) -> None:
    image = Image(**node_cache)
    image.restore(monotonic)
    image.cluster.publish_nodes([labelled("n1", "20")])
    found = image.cache.current().cluster
    assert image.table.calls[0] == "head"
    assert isinstance(found, Snapshot)
    assert dict(found.nodes["n1"].labels) == dict(labelled("n1", "20").labels)


@pytest.mark.parametrize("monotonic", MONOTONIC)
def test_does_not_use_stale_data_of_a_restored_image(monotonic: float) -> None:
    """Nothing was published after the image was taken. The data ages even while no process runs."""
    image = Image()
    image.restore(monotonic)
    assert "older than maxStaleness" in str(image.cache.current().cluster)


@pytest.mark.parametrize("monotonic", MONOTONIC)
def test_bind_reads_the_configuration_before_the_first_bind_after_a_restore(monotonic: float) -> None:
    image = Image()
    image.counted.current()
    assert image.table.calls == []
    image.restore(monotonic)
    image.counted.current()
    assert image.table.calls == ["head"]
