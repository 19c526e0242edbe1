"""The watcher: lists the nodes and publishes what changed behind the head.

Several may run at once, since a schedule sometimes fires twice: publishing is conditional on the version that was read,
so one wins and the others have written nothing that can be seen. An unchanged list renews the head's times only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from berth import __version__
from berth.extender.ports import CacheUnavailable
from berth.nodecache.cluster import ClusterUnavailable, NodeList, Nodes, SchedulingQueue
from berth.nodecache.codec import pack
from berth.nodecache.head import Head, SnapshotPointer
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.table import CacheTable, TableUnavailable
from berth.scheduling.snapshot import Snapshot

SNAPSHOT_LIFETIME = 24 * 3600.0
"""Seconds until the table may drop a snapshot's chunks. One that is still current is written anew at half of that."""


class WatcherOutcome(StrEnum):
    """How one run of the watcher ended."""

    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    LOST_RACE = "lost-race"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"
    TABLE_UNAVAILABLE = "failure-table-unavailable"


@dataclass(frozen=True, slots=True)
class WatcherRun:
    """What one run did. `unwoken`: why the scheduler's queue could not be woken after a change, if so."""

    outcome: WatcherOutcome
    version: int = 0
    nodes: int = 0
    unreadable: int = 0
    reason: str = ""
    unwoken: str = ""


class Watcher:
    """One per environment; not for use by several threads."""

    def __init__(
        self,
        nodes: Nodes,
        table: CacheTable,
        reader: NodeCacheReader,
        queue: SchedulingQueue,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._nodes = nodes
        self._table = table
        self._reader = reader
        self._queue = queue
        self._clock = clock
        self._new_id = new_id

    def run(self) -> WatcherRun:
        """List once, publish once."""
        try:
            return self._list_and_publish()
        except ClusterUnavailable as error:
            return WatcherRun(WatcherOutcome.CLUSTER_UNAVAILABLE, reason=str(error))
        except TableUnavailable as error:
            return WatcherRun(WatcherOutcome.TABLE_UNAVAILABLE, reason=str(error))

    def _list_and_publish(self) -> WatcherRun:
        # The head before the list: what is published under its version is then never older than what it replaces.
        head = self._table.head()
        now = self._clock()
        listed = self._nodes.list()
        snapshot = Snapshot.of(listed.nodes)
        changed = head is None or self._differs(head, snapshot)
        if head is None or changed or now - head.snapshot_at > SNAPSHOT_LIFETIME / 2:
            following = self._with_snapshot(head, listed, snapshot, now)
        else:
            following = self._renewed(head, listed, now)
        if not self._table.publish(following, None if head is None else head.version):
            return WatcherRun(WatcherOutcome.LOST_RACE, reason="another watcher published meanwhile")
        return WatcherRun(
            WatcherOutcome.PUBLISHED if changed else WatcherOutcome.UNCHANGED,
            version=following.version,
            nodes=len(snapshot.nodes),
            unreadable=listed.unreadable,
            unwoken=self._wake() if changed else "",
        )

    def _differs(self, head: Head, listed: Snapshot) -> bool:
        published = self._reader.at(head)
        return isinstance(published, CacheUnavailable) or published.nodes != listed.nodes

    def _with_snapshot(self, head: Head | None, listed: NodeList, snapshot: Snapshot, now: float) -> Head:
        chunks = pack(snapshot.nodes.values())
        pointer = SnapshotPointer(self._new_id(), len(chunks))
        self._table.put_chunks(pointer.id, chunks, now + SNAPSHOT_LIFETIME)
        return Head(
            version=1 if head is None else head.version + 1,
            snapshot=pointer,
            snapshot_at=now,
            observed_at=now,
            heartbeat=self._clock(),
            resource_version=listed.resource_version,
            writer_version=__version__,
        )

    def _renewed(self, head: Head, listed: NodeList, now: float) -> Head:
        return replace(
            head,
            version=head.version + 1,
            observed_at=now,
            heartbeat=self._clock(),
            resource_version=listed.resource_version,
            writer_version=__version__,
        )

    def _wake(self) -> str:
        """Only after publishing: a pod that is woken earlier is judged on the old state and waits again (fact 43)."""
        try:
            self._queue.wake()
        except ClusterUnavailable as error:
            return str(error)
        return ""
