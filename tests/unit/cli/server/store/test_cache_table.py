"""The cache table of `berth serve`: it keeps the items that readers need; concurrent readers reach the last version."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_ONLY, Parts
from berth_cli.server.store.cache_table import TrimmedCacheTable
from berth_cli.server.store.lease_lock import InMemoryItem
from tests.builders.pods import pod_object
from tests.fakes.published import PublishedCluster

READERS = 4
PUBLICATIONS = 200


class Kept(TrimmedCacheTable):
    @property
    def versions(self) -> set[int]:
        return {version for *_, version in self._log}

    @property
    def snapshots(self) -> set[str]:
        return {snapshot for snapshot, _ in self._chunks}


class TrimmedCluster(PublishedCluster):
    def new_table(self, item: InMemoryItem) -> Kept:
        self.kept = Kept(item)
        return self.kept

    def publish_version(self, number: int) -> None:
        """Publish a node with this number in a label, and a pod."""
        self.publish("pods", [pod_object(f"p{number}")])
        self.publish_nodes([NodeInfo("n", {"number": str(number)})])


@pytest.fixture
def cluster() -> TrimmedCluster:
    return TrimmedCluster()


def test_new_snapshot_removes_the_previous_one_and_its_log(cluster: TrimmedCluster) -> None:
    for number in range(3):
        cluster.publish_version(number)
    cluster.compact()
    [first] = cluster.kept.snapshots
    cluster.publish_version(3)
    cluster.compact()
    head = cluster.table.head()
    assert head is not None
    assert head.pointer is not None
    assert head.pointer.snapshot is not None
    assert cluster.kept.snapshots == {head.pointer.snapshot.id} != {first}
    assert all(version > head.pointer.compacted_version for version in cluster.kept.versions)


def test_snapshot_that_is_being_written_is_kept(cluster: TrimmedCluster) -> None:
    cluster.publish_version(0)
    cluster.compact()
    cluster.table.put_chunks("next", [b"x"], 0.0, lambda _: None)
    cluster.publish_version(1)
    assert "next" in cluster.kept.snapshots


def test_readers_never_go_back_during_compaction_and_reach_the_last_version(cluster: TrimmedCluster) -> None:
    cluster.publish_version(0)
    ended = Event()

    def numbers(parts: Parts) -> list[int]:
        reader, found = NodeCacheReader(cluster.table, SnapshotView(), lambda seconds: None), list[int]()
        while True:
            is_last = ended.is_set()
            found.append(int(reader.at(cluster.table.head(), parts=parts).snapshot.nodes["n"].labels["number"]))
            if is_last:
                return found

    with ThreadPoolExecutor(READERS) as threads:
        reads = [threads.submit(numbers, parts) for parts in [ALL_PARTS, NODES_ONLY] * (READERS // 2)]
        try:
            for number in range(1, PUBLICATIONS):
                cluster.publish_version(number)
                if number % 5 == 0:
                    cluster.compact()
        finally:
            ended.set()
    for read in reads:
        found = read.result()
        assert found == sorted(found)
        assert found[-1] == PUBLICATIONS - 1
