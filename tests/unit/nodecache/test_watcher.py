"""The watcher: what it publishes, when it wakes the scheduler, and how each run ends."""

from __future__ import annotations

import pytest

from berth.extender.ports import CacheUnavailable
from berth.nodecache.cluster import NodeList
from berth.nodecache.head import SCHEMA_VERSION, Head
from berth.nodecache.in_memory_table import InMemoryCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.table import CacheTable
from berth.nodecache.watcher import SNAPSHOT_LIFETIME, WatcherOutcome, WatcherRun
from berth.scheduling.objects import NodeInfo
from tests.builders.heads import head, publish
from tests.builders.nodes import labelled, node
from tests.fakes.cache_tables import CountingCacheTable, InterruptedCacheTable, Once, outage
from tests.fakes.clock import HandDrivenClock
from tests.fakes.cluster import ListedNodes, RecordingQueue
from tests.fakes.watchers import watcher_of


def published(table: CacheTable) -> list[NodeInfo]:
    """What a reader sees."""
    found = NodeCacheReader(table, HandDrivenClock().sleep).current()
    assert not isinstance(found, CacheUnavailable), found
    return list(found.nodes.values())


def head_of(table: CacheTable) -> Head:
    found = table.head()
    assert found is not None
    return found


def test_the_first_run_publishes_version_1() -> None:
    table, queue = InMemoryCacheTable(), RecordingQueue()
    run = watcher_of(ListedNodes([labelled("a", "1")], unreadable=2), table, queue=queue).run()
    assert run == WatcherRun(WatcherOutcome.PUBLISHED, version=1, nodes=1, unreadable=2)
    assert published(table) == [labelled("a", "1")]
    assert queue.woken == 1


def test_a_cluster_without_nodes_is_published_too() -> None:
    table = InMemoryCacheTable()
    assert watcher_of(ListedNodes(), table).run().outcome is WatcherOutcome.PUBLISHED
    assert published(table) == []


@pytest.mark.parametrize(
    "following",
    [
        pytest.param([labelled("a", "2"), node("b")], id="another label"),
        pytest.param([labelled("a", "1"), node("b"), node("c")], id="a node joined"),
        pytest.param([labelled("a", "1")], id="a node left"),
        pytest.param([labelled("a", "1"), node("b", defect="d")], id="a node became defective"),
        pytest.param([], id="all left"),
    ],
)
def test_a_change_is_published_and_wakes_the_queue(following: list[NodeInfo]) -> None:
    table, queue, nodes = InMemoryCacheTable(), RecordingQueue(), ListedNodes([labelled("a", "1"), node("b")])
    watcher = watcher_of(nodes, table, queue=queue)
    watcher.run()
    nodes.nodes = tuple(following)
    run = watcher.run()
    assert (run.outcome, run.version) == (WatcherOutcome.PUBLISHED, 2)
    assert published(table) == following
    assert queue.woken == 2


def test_an_unchanged_list_renews_the_times_and_keeps_the_snapshot() -> None:
    clock, queue = HandDrivenClock(), RecordingQueue()
    table = CountingCacheTable(InMemoryCacheTable())
    watcher = watcher_of(ListedNodes([node("a")]), table, clock=clock, queue=queue)
    watcher.run()
    first = head_of(table)
    clock.advance(60)
    table.calls.clear()
    run = watcher.run()
    assert run == WatcherRun(WatcherOutcome.UNCHANGED, version=2, nodes=1)
    renewed = head_of(table)
    assert renewed.snapshot == first.snapshot
    assert (renewed.snapshot_at, renewed.observed_at, renewed.heartbeat) == (first.snapshot_at, clock.now, clock.now)
    assert "put_chunks" not in table.calls
    assert queue.woken == 1


def test_nodes_in_another_order_are_no_change() -> None:
    table, nodes = InMemoryCacheTable(), ListedNodes([node("a"), node("b")])
    watcher = watcher_of(nodes, table)
    watcher.run()
    nodes.nodes = (node("b"), node("a"))
    assert watcher.run().outcome is WatcherOutcome.UNCHANGED


def test_observed_at_is_the_time_before_the_list_and_the_heartbeat_the_time_after() -> None:
    """The data is as old as the moment it was asked for: a list that takes long makes nothing fresher."""
    clock = HandDrivenClock(100.0)

    class Slow(ListedNodes):
        def list(self) -> NodeList:
            clock.advance(7)
            return super().list()

    table = InMemoryCacheTable()
    watcher_of(Slow([node("a")]), table, clock=clock).run()
    assert (head_of(table).observed_at, head_of(table).heartbeat) == (100.0, 107.0)


def test_a_snapshot_is_written_anew_before_its_chunks_may_expire() -> None:
    clock, queue, table = HandDrivenClock(), RecordingQueue(), InMemoryCacheTable()
    watcher = watcher_of(ListedNodes([node("a")]), table, clock=clock, queue=queue)
    watcher.run()
    first = head_of(table)
    clock.advance(SNAPSHOT_LIFETIME / 2 + 1)
    run = watcher.run()
    assert run.outcome is WatcherOutcome.UNCHANGED
    assert head_of(table).snapshot.id != first.snapshot.id
    assert head_of(table).snapshot_at == clock.now
    assert published(table) == [node("a")]
    assert queue.woken == 1


def test_a_run_that_was_overtaken_publishes_nothing_and_wakes_no_one() -> None:
    inner, queue = InMemoryCacheTable(), RecordingQueue()
    publish(inner, [node("before")], "before")
    table = InterruptedCacheTable(inner, {"publish": Once(lambda: publish(inner, [node("winner")], "winner"))})
    run = watcher_of(ListedNodes([node("loser")]), table, queue=queue).run()
    assert run == WatcherRun(WatcherOutcome.LOST_RACE, reason="another watcher published meanwhile")
    assert published(inner) == [node("winner")]
    assert queue.woken == 0


def test_of_two_first_runs_one_wins() -> None:
    table = InMemoryCacheTable()
    second = watcher_of(ListedNodes([node("second")]), table, name="second")
    overtaken = InterruptedCacheTable(table, {"publish": Once(second.run)})
    first = watcher_of(ListedNodes([node("first")]), overtaken, name="first")
    assert first.run().outcome is WatcherOutcome.LOST_RACE
    assert published(table) == [node("second")]


def test_after_a_lost_race_the_next_run_publishes() -> None:
    inner = InMemoryCacheTable()
    table = InterruptedCacheTable(inner, {"publish": Once(lambda: publish(inner, [node("other")], "other"))})
    watcher = watcher_of(ListedNodes([node("a")]), table)
    assert [watcher.run().outcome for _ in range(2)] == [WatcherOutcome.LOST_RACE, WatcherOutcome.PUBLISHED]
    assert published(inner) == [node("a")]


def test_a_cluster_that_cannot_be_read_leaves_the_head_as_it_is() -> None:
    table, nodes, queue = InMemoryCacheTable(), ListedNodes([node("a")]), RecordingQueue()
    watcher = watcher_of(nodes, table, queue=queue)
    watcher.run()
    before = table.head()
    nodes.outage = "https://cluster cannot be reached"
    run = watcher.run()
    assert run == WatcherRun(WatcherOutcome.CLUSTER_UNAVAILABLE, reason="https://cluster cannot be reached")
    assert table.head() == before
    assert queue.woken == 1


@pytest.mark.parametrize("method", ["head", "publish", "put_chunks", "chunks"])
def test_a_table_that_cannot_be_used_ends_the_run_in_its_own_words(method: str) -> None:
    inner, queue = InMemoryCacheTable(), RecordingQueue()
    publish(inner, [node("before")])
    run = watcher_of(ListedNodes([node("a")]), InterruptedCacheTable(inner, {method: outage}), queue=queue).run()
    assert run == WatcherRun(
        WatcherOutcome.TABLE_UNAVAILABLE,
        reason="node cache table berth-cache: the table is throttled (ThrottlingException)",
    )
    assert published(inner) == [node("before")]
    assert queue.woken == 0


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(head(5, "lost"), id="its chunks are gone"),
        pytest.param(head(5, "lost", schema_version=SCHEMA_VERSION + 1), id="a later release wrote it"),
    ],
)
def test_a_snapshot_that_cannot_be_read_is_replaced(damaged: Head) -> None:
    table = InMemoryCacheTable()
    table.publish(damaged, None)
    run = watcher_of(ListedNodes([node("a")]), table).run()
    assert (run.outcome, run.version) == (WatcherOutcome.PUBLISHED, 6)
    assert published(table) == [node("a")]
    assert head_of(table).schema_version == SCHEMA_VERSION


def test_a_queue_that_cannot_be_woken_is_told_and_the_change_is_published_all_the_same() -> None:
    table, queue = InMemoryCacheTable(), RecordingQueue()
    queue.outage = "forbidden; give the watcher's user the verb patch"
    run = watcher_of(ListedNodes([node("a")]), table, queue=queue).run()
    assert run.outcome is WatcherOutcome.PUBLISHED
    assert run.unwoken == "forbidden; give the watcher's user the verb patch"
    assert published(table) == [node("a")]


def test_chunks_are_written_before_the_head_points_to_them() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    watcher_of(ListedNodes([node("a")]), table).run()
    assert [call for call in table.calls if call in {"put_chunks", "publish"}] == ["put_chunks", "publish"]


def test_the_head_is_read_before_the_list() -> None:
    """Else a list that is older than what another watcher has published meanwhile could replace it."""
    inner = InMemoryCacheTable()
    publish(inner, [node("before")], "before")

    class Overtaken(ListedNodes):
        def list(self) -> NodeList:
            publish(inner, [node("newer")], "newer")
            return super().list()

    assert watcher_of(Overtaken([node("older")]), inner).run().outcome is WatcherOutcome.LOST_RACE
    assert published(inner) == [node("newer")]
