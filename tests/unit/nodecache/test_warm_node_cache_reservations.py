"""Pods that are being bound, as the verbs see them: read before the head, and only if resources are counted."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.configuration.store import Configurations
from berth.dynamodb import TableUnavailable
from berth.extender.ports import CacheUnavailable
from berth.ledger.nodes.entry import OpenReservation
from berth.nodecache.binds_under_way import BegunBinds, BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.pods import Binding
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.fakes.published import PublishedCluster

SLOT = "example.com/slot"
COUNTS: dict[str, object] = {"profile": "managed-resources", "managedResources": [{"name": SLOT}]}
POD = PodKey("ml", "train-0", "uid-train-0")


class _Ledger(InMemoryLedgerTable):
    def __init__(self, reads: list[str]) -> None:
        super().__init__()
        self.reads = reads
        self.outage = ""

    def open_reservations(self):  # type: ignore[no-untyped-def]
        self.reads.append("open")
        if self.outage:
            raise TableUnavailable(self.outage)
        return super().open_reservations()


class _Begun(BegunBinds):
    def __init__(self, reads: list[str]) -> None:
        super().__init__()
        self.reads = reads

    def pods(self) -> tuple[Pod, ...]:
        self.reads.append("begun")
        return super().pods()


class Reading:
    def __init__(self, document: Mapping[str, object]) -> None:
        self.reads: list[str] = []
        self.begun = _Begun(self.reads)
        self.warnings: list[str] = []
        self.published = PublishedCluster()
        self.ledger = _Ledger(self.reads)
        table, head = self.published.table, self.published.table.head

        def counted_head():  # type: ignore[no-untyped-def]
            self.reads.append("head")
            return head()

        table.head = counted_head  # type: ignore[method-assign]
        configuration = BerthConfiguration.model_validate(document)
        self.cache = WarmNodeCache(
            table,
            NodeCacheReader(table, SnapshotView(), lambda seconds: None),
            Configurations(InMemoryConfigurationStore(self.published.item), lambda: configuration),
            self.published.clock,
            self.warnings.append,
            BindsUnderWay(self.ledger, None, begun=self.begun),
        )
        self.published.publish_nodes([node("node-a"), node("node-b")])
        self.current()
        self.reads.clear()

    def current(self) -> Snapshot:
        found = self.cache.current().cluster
        assert not isinstance(found, CacheUnavailable)
        return found

    def reserve(self, attempt: str = "attempt", units: int = 1, since: float = 0) -> None:
        self.ledger.put_open(OpenReservation(POD, "node-a", attempt, {SLOT: units}, since))


def test_assumes_pod_with_open_reservation_on_its_node() -> None:
    reading = Reading(COUNTS)
    reading.reserve(units=3)
    [assumed] = reading.current().assumed["node-a"]
    assert (assumed.uid, assumed.assumed_shares) == (POD.uid, {SLOT: 3})


def test_reads_begun_binds_then_reservations_then_the_head() -> None:
    reading = Reading(COUNTS)
    reading.current()
    assert reading.reads == ["begun", "open", "head"]


def test_reads_the_ledger_only_if_resources_are_counted() -> None:
    reading = Reading({"profile": "label-priority"})
    reading.current()
    assert reading.reads == ["head"]


def test_begun_bind_counts_the_pods_requests_until_its_reservation() -> None:
    reading = Reading(COUNTS)
    reading.cache.asked_about(pod(POD.name, POD.namespace, POD.uid))
    with reading.begun.begun(Binding(POD.namespace, POD.name, POD.uid, "node-a")):
        [assumed] = reading.current().assumed["node-a"]
        assert (assumed.uid, assumed.assumed_shares) == (POD.uid, None)
        reading.reserve(units=3)
        [assumed] = reading.current().assumed["node-a"]
        assert (assumed.uid, assumed.assumed_shares) == (POD.uid, {SLOT: 3})


def test_reservation_of_the_later_attempt_counts() -> None:
    reading = Reading(COUNTS)
    reading.reserve("later", 2, since=2)
    reading.reserve("earlier", 1, since=1)
    [assumed] = reading.current().assumed["node-a"]
    assert assumed.assumed_shares == {SLOT: 2}


def test_caches_head_and_reservations_for_the_same_configured_interval() -> None:
    reading = Reading(COUNTS | {"nodeCache": {"minHeadReadInterval": 5}})
    reading.reserve()
    assert not reading.current().assumed
    assert reading.reads == []


def test_unchanged_reservations_and_snapshot_return_the_same_snapshot() -> None:
    reading = Reading(COUNTS)
    reading.reserve()
    assert reading.current() is reading.current()


def test_uses_last_reservations_while_ledger_is_unavailable() -> None:
    reading = Reading(COUNTS)
    reading.reserve()
    reading.current()
    reading.ledger.outage = "throttled"
    assert reading.current().assumed
    assert reading.warnings == ["throttled; pods that are being bound are not counted"]


@pytest.mark.parametrize("outage", ["throttled"])
def test_does_not_assume_pods_if_the_ledger_was_never_read(outage: str) -> None:
    reading = Reading(COUNTS)
    reading.cache._last_read = None
    reading.ledger.outage = outage
    assert not reading.current().assumed
