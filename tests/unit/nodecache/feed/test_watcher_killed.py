"""A watcher that is killed at any call of its publications, as by a deployment that deletes its version: the next run
continues, loses nothing, and readers' data stays younger than maxStaleness."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pytest

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.elector import LeaderElector
from berth.lease.lock import Fence
from berth.nodecache.feed.cluster import Added, Cluster, ClusterWatch, Deleted, Event, Listed, ResourceEvent
from berth.nodecache.feed.head import Pointer, Position
from berth.nodecache.feed.table import LogItem, LogWrite
from berth.nodecache.feed.watcher import Watcher
from berth.nodecache.feed.writer import Retention
from berth.scheduling.configuration.document import NodeCacheConfiguration
from berth_cli.server.store.lease_lock import InMemoryLeaseLock
from tests.fakes.cache_tables import CountingCacheTable
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.nodecache.feed.feeds import Store, new_id
from tests.unit.nodecache.feed.reading import Reading

CHANGES = 30
SECONDS = 0.7
"""The time between two changes of the cluster."""

NEXT_START_SECONDS = 120.0
"""The schedule starts a watcher every minute; one start may be dropped."""


class Killed(BaseException):
    """The process ends at once: no code of the watcher handles it."""


class KilledTable(CountingCacheTable):
    """Kills its caller at a call: before the request reaches the table, or before its answer arrives."""

    def __init__(self, store: Store, at: float, *, is_carried_out: bool) -> None:
        super().__init__(store)
        self._at, self._is_carried_out = at, is_carried_out

    def _called(self, method: str) -> None:
        super()._called(method)
        if len(self.calls) == self._at and not self._is_carried_out:
            raise Killed

    def _answered(self) -> None:
        if len(self.calls) == self._at:
            raise Killed

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        found = super().put_log(uid, item, nonce, expires_at)
        self._answered()
        return found

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        super().put_chunks(snapshot_id, chunks, expires_at, wait)
        self._answered()

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        super().publish(pointer, fence, renew_time, nonce)
        self._answered()


class AgedTable(CountingCacheTable):
    """Keeps the greatest age of the data at the moment before it is replaced."""

    def __init__(self, store: Store, clock: EnvironmentClock) -> None:
        super().__init__(store)
        self._clock, self.greatest_age = clock, 0.0

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        before = self.head()
        if before is not None and before.pointer is not None:
            age = self._clock.wall() - before.pointer.observation.observed_at
            self.greatest_age = max(self.greatest_age, age)
        super().publish(pointer, fence, renew_time, nonce)


class ChangingCluster(Cluster):
    """One of five nodes changes at each version, and is deleted at every seventh. Another one never changes."""

    def __init__(self, clock: EnvironmentClock) -> None:
        self.clock = clock

    @property
    def version(self) -> int:
        return min(CHANGES, int((self.clock.wall() - AT) / SECONDS))

    def nodes(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {"unchanged": {"metadata": {"name": "unchanged"}}}
        for version in range(1, self.version + 1):
            node = self.node(version)
            if version % 7:
                found[f"n{version % 5}"] = node
            else:
                found.pop(f"n{version % 5}", None)
        return found

    def node(self, version: int) -> dict[str, object]:
        return {"metadata": {"name": f"n{version % 5}", "labels": {"version": str(version)}}}

    def uid(self) -> str:
        return "cluster"

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        return _Watch(self, positions)


class _Watch(ClusterWatch):
    def __init__(self, cluster: ChangingCluster, positions: Mapping[str, Position]) -> None:
        super().__init__(("nodes",), positions)
        self._cluster = cluster

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        self._cluster.clock.advance(min(timeout, SECONDS / 2))
        events = [ResourceEvent("nodes", self._cluster.clock.wall(), event) for event in self._events()]
        self._advance(events)
        return events

    def _events(self) -> list[Event]:
        known, now = self.positions.get("nodes"), self._cluster.version
        if known is None:
            return [Listed(tuple(self._cluster.nodes().values()), str(now))]
        versions = range(int(known.resource_version) + 1, now + 1)
        return [(Added if each % 7 else Deleted)(self._cluster.node(each), str(each)) for each in versions]

    def stop(self) -> None:
        pass


def run(name: str, store: Store, table: CountingCacheTable, clock: EnvironmentClock, seconds: float) -> None:
    ends_at = clock.wall() + seconds
    Watcher(
        LeaderElector(
            InMemoryLeaseLock(store.item, new_id),
            LeaderElectionConfig(),
            name,
            clock,
            lambda: 0.0,
            handover=Handover(ends_at, math.inf),
        ),
        ChangingCluster(clock),
        table,
        clock=clock,
        sleep=clock.advance,
        stopped=lambda: clock.wall() >= ends_at,
        new_id=new_id,
        on_published=lambda _: None,
        # Every flush that outgrows the snapshot is compacted: its writes are calls to be killed at, too.
        retention=Retention(least_log_bytes=0),
    ).run()


def killed_at(call: float, *, is_carried_out: bool) -> list[str]:
    """Kill a watcher at this call, start the next one, and check what it publishes. Return the first one's calls."""
    store, clock = Store(), EnvironmentClock()
    table = KilledTable(store, call, is_carried_out=is_carried_out)
    try:
        run("killed", store, table, clock, seconds=CHANGES * SECONDS / 2)
    except Killed:
        clock.advance(NEXT_START_SECONDS)
    aged = AgedTable(store, clock)
    run("next", store, aged, clock, seconds=60.0)
    assert aged.greatest_age < NodeCacheConfiguration().max_staleness, call
    expected = {("nodes", name): node for name, node in ChangingCluster(clock).nodes().items()}
    assert Reading(store).read() == expected, (call, table.calls[-3:])
    return table.calls


@pytest.mark.parametrize("is_carried_out", [False, True], ids=["the request is lost", "the answer is lost"])
def test_next_run_loses_nothing_and_data_stays_fresh_if_the_watcher_is_killed_at_any_call(is_carried_out: bool) -> None:
    calls = killed_at(math.inf, is_carried_out=is_carried_out)
    assert {"put_log", "put_chunks", "publish"} <= set(calls)
    for call in range(1, len(calls) + 1):
        killed_at(call, is_carried_out=is_carried_out)
