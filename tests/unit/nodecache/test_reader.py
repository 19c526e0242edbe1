"""The reader in every warm environment: what it reads, what it costs, and what it does when something is missing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from berth.extender.ports import CacheUnavailable
from berth.nodecache.codec import pack
from berth.nodecache.head import SCHEMA_VERSION
from berth.nodecache.in_memory_table import InMemoryCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.table import CacheTable
from berth.scheduling.snapshot import Snapshot
from tests.builders.heads import head, publish
from tests.builders.nodes import labelled, node
from tests.fakes.cache_tables import CountingCacheTable, InterruptedCacheTable, ScriptedCacheTable, outage
from tests.fakes.clock import HandDrivenClock

INCOMPLETE = CacheUnavailable("the node cache's snapshot is incomplete; the next watcher replaces it")
FUTURE = CacheUnavailable("the node cache was written by a newer release; update this function")
CORRUPT = CacheUnavailable("a chunk of the node cache cannot be read; the next watcher replaces it")


def reader_of(table: CacheTable) -> tuple[NodeCacheReader, HandDrivenClock]:
    clock = HandDrivenClock()
    return NodeCacheReader(table, clock.sleep), clock


def names(found: Snapshot | CacheUnavailable) -> list[str]:
    assert isinstance(found, Snapshot), found
    return list(found.nodes)


def test_a_warm_call_costs_one_read_of_the_head() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    publish(table, [node("a")])
    reader, _ = reader_of(table)
    cold = reader.current()
    table.calls.clear()
    assert [reader.current() is cold for _ in range(3)] == [True, True, True]
    assert table.calls == ["head"] * 3


def test_a_head_that_was_renewed_without_a_change_costs_nothing_more() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    publish(table, [node("a")])
    reader, _ = reader_of(table)
    cold = reader.current()
    table.publish(head(2, "first", at=1_800_000_000), 1)
    table.calls.clear()
    assert reader.current() is cold
    assert table.calls == ["head"]


def test_a_new_snapshot_is_loaded_once() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    publish(table, [node("a")], "first")
    reader, _ = reader_of(table)
    assert names(reader.current()) == ["a"]
    publish(table, [node("a"), node("b")], "second")
    table.calls.clear()
    assert names(reader.current()) == names(reader.current()) == ["a", "b"]
    assert table.calls.count("chunks second") == 1


def test_nodes_that_did_not_change_are_the_same_objects_in_the_next_snapshot() -> None:
    table = InMemoryCacheTable()
    publish(table, [labelled("same", "1"), labelled("changed", "1")], "first")
    reader, _ = reader_of(table)
    before = reader.current()
    publish(table, [labelled("same", "1"), labelled("changed", "2")], "second")
    after = reader.current()
    assert isinstance(before, Snapshot)
    assert isinstance(after, Snapshot)
    assert after.nodes["same"] is before.nodes["same"]
    assert after.nodes["changed"] == labelled("changed", "2")


def test_an_empty_table_says_what_to_do() -> None:
    reader, _ = reader_of(InMemoryCacheTable())
    assert reader.current() == CacheUnavailable(
        "the node cache is empty: no watcher has published yet; is its schedule enabled?"
    )


def test_chunks_that_are_not_there_yet_are_waited_for() -> None:
    chunks: list[bytes | None] = [*pack([node("a")])]
    table = ScriptedCacheTable(head(), head(), [None], head(), [None], head(), chunks)
    reader, clock = reader_of(table)
    assert names(reader.current()) == ["a"]
    assert table.finished
    assert clock.slept == pytest.approx([0.05, 0.1])


def test_one_missing_chunk_of_several_is_enough_to_wait() -> None:
    first, second = pack([node("a")]), pack([node("b")])
    table = ScriptedCacheTable(head(chunks=2), head(chunks=2), [*first, None], head(chunks=2), [*first, *second])
    reader, _ = reader_of(table)
    assert names(reader.current()) == ["a", "b"]


def test_chunks_that_never_come_are_given_up_in_time_and_nothing_is_half_applied() -> None:
    table = CountingCacheTable(InMemoryCacheTable())
    table.publish(head(1, "lost", 2), None)
    table.put_chunks("lost", pack([node("a")]), 0)
    reader, clock = reader_of(table)
    assert reader.current() == INCOMPLETE
    assert sum(clock.slept) <= 1
    assert reader.current() == INCOMPLETE


def test_a_snapshot_that_is_replaced_while_its_chunks_are_awaited_is_not_awaited_any_longer() -> None:
    chunks: list[bytes | None] = [*pack([node("new")])]
    table = ScriptedCacheTable(head(1, "old"), head(1, "old"), [None], head(2, "new"), chunks)
    reader, _ = reader_of(table)
    assert names(reader.current()) == ["new"]
    assert table.finished


def test_a_snapshot_that_is_replaced_before_it_is_loaded_is_skipped() -> None:
    chunks: list[bytes | None] = [*pack([node("new")])]
    table = ScriptedCacheTable(head(1, "old"), head(2, "new"), chunks, head(2, "new"))
    reader, _ = reader_of(table)
    assert names(reader.current()) == names(reader.current()) == ["new"]
    assert table.finished


def test_a_head_that_vanishes_meanwhile_still_leads_to_its_snapshot() -> None:
    chunks: list[bytes | None] = [*pack([node("a")])]
    table = ScriptedCacheTable(head(), None, chunks)
    reader, _ = reader_of(table)
    assert names(reader.current()) == ["a"]


def test_a_corrupt_chunk_is_told_and_the_next_snapshot_heals_it() -> None:
    table = InMemoryCacheTable()
    table.put_chunks("broken", [b"not a chunk"], 0)
    table.publish(head(1, "broken"), None)
    reader, _ = reader_of(table)
    assert reader.current() == CORRUPT
    publish(table, [node("a")], "whole")
    assert names(reader.current()) == ["a"]


def test_after_a_corrupt_snapshot_the_one_before_is_not_served() -> None:
    """It is older than what was published: a verb says so rather than deciding on it."""
    table = InMemoryCacheTable()
    publish(table, [node("a")], "first")
    reader, _ = reader_of(table)
    assert names(reader.current()) == ["a"]
    table.put_chunks("broken", [b"not a chunk"], 0)
    table.publish(head(2, "broken"), 1)
    assert reader.current() == CORRUPT


def test_a_head_of_a_later_release_is_not_read_on() -> None:
    table = ScriptedCacheTable(head(schema_version=SCHEMA_VERSION + 1))
    reader, _ = reader_of(table)
    assert reader.current() == FUTURE
    assert table.finished


def test_a_head_of_a_later_release_that_comes_while_loading_is_not_read_on_either() -> None:
    chunks: list[bytes | None] = [*pack([node("a")])]
    table = ScriptedCacheTable(head(1, "old"), head(2, "new", schema_version=SCHEMA_VERSION + 1), chunks)
    reader, _ = reader_of(table)
    assert reader.current() == FUTURE


def test_a_table_that_cannot_be_read_is_told_in_its_own_words_and_later_read_again() -> None:
    down = {"head": outage}
    table = InMemoryCacheTable()
    publish(table, [node("a")])
    reader, _ = reader_of(InterruptedCacheTable(table, down))
    assert reader.current() == CacheUnavailable(
        "node cache table berth-cache: the table is throttled (ThrottlingException)"
    )
    down.clear()
    assert names(reader.current()) == ["a"]


def test_of_many_threads_one_loads_and_all_get_the_same_snapshot() -> None:
    inner = InMemoryCacheTable()
    publish(inner, [node("a")])
    table = CountingCacheTable(inner)
    reader, _ = reader_of(table)
    together = Barrier(16)

    def ask() -> Snapshot | CacheUnavailable:
        together.wait()
        return reader.current()

    with ThreadPoolExecutor(16) as pool:
        found = [future.result() for future in [pool.submit(ask) for _ in range(16)]]
    assert len({id(snapshot) for snapshot in found}) == 1
    assert table.calls.count("chunks first") == 1


def test_a_thread_that_read_an_old_head_does_not_take_the_others_back() -> None:
    """It stops between reading the head and loading; meanwhile a later snapshot is published and loaded."""
    inner = InMemoryCacheTable()
    publish(inner, [node("old")], "old")
    reader, _ = reader_of(inner)
    old = inner.head()
    assert old is not None
    publish(inner, [node("new")], "new")
    later = reader.current()
    assert names(later) == ["new"]
    assert reader.at(old) is later
    assert reader.current() is later


def test_a_warm_thread_does_not_wait_for_one_that_loads() -> None:
    inner = InMemoryCacheTable()
    first = publish(inner, [node("old")], "old")
    loading, go_on = Event(), Event()

    def loads() -> None:
        if warm.is_set():
            loading.set()
            assert go_on.wait(10)

    warm = Event()
    table = InterruptedCacheTable(inner, {"chunks": loads})
    reader, _ = reader_of(table)
    before = reader.current()
    warm.set()
    publish(inner, [node("new")], "new")
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(reader.current)
        assert loading.wait(10)
        assert reader.at(first) is before
        go_on.set()
        assert names(slow.result()) == ["new"]
