"""The reader: nothing that is missing or malformed in the table makes it go wrong for good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.extender.deadline import Deadline
from berth.nodecache.feed.changes import Change, pack
from berth.nodecache.feed.reader import (
    DEADLINE_PASSED,
    INCOMPLETE,
    LOG_ATTEMPTS,
    MALFORMED,
    NOTHING_PUBLISHED,
    RETRY_SECONDS,
    NothingPublished,
)
from tests.fakes.cache_tables import Once
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.feeds import Store, Writing, state_of
from tests.unit.nodecache.feed.reading import FOUR, GARBAGE, ONE, THREE, TWO, Reading


@pytest.mark.usefixtures("leader")
def test_reads_a_chunk_again_that_is_not_visible_yet(store: Store) -> None:
    slept: list[float] = []

    def appears(seconds: float) -> None:
        slept.append(seconds)
        store.overwrite_chunk(pack([ONE]).items[0])

    store.lose_chunk()
    assert Reading(store, sleep=appears).read() == state_of(ONE, TWO, THREE)
    assert slept == [RETRY_SECONDS]


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    ("seconds", "waits"),
    [
        pytest.param(0.0, [], id="no time left"),
        pytest.param(0.2, [0.05, 0.1], id="time for two waits"),
        pytest.param(9.0, [0.05, 0.1, 0.15, 0.2], id="more time than needed"),
    ],
)
def test_waits_for_a_missing_chunk_while_there_is_time(store: Store, seconds: float, waits: list[float]) -> None:
    clock, slept = EnvironmentClock(), []

    def sleep(wait: float) -> None:
        slept.append(wait)
        clock.advance(wait)

    store.lose_chunk()
    reading = Reading(store, sleep=sleep)
    with pytest.raises(NothingPublished, match=INCOMPLETE if seconds else DEADLINE_PASSED):
        reading.reader.at(store.head(), Deadline(seconds, clock.monotonic).remaining)
    assert slept == pytest.approx(waits)
    assert reading.calls().count("chunks") == (len(waits) + 1 if seconds else 0)


@pytest.mark.usefixtures("leader")
def test_reports_gap_after_the_snapshot_without_loading_it_again(store: Store) -> None:
    store.lose_log(2)
    reading = Reading(store)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read()
    assert reading.calls().count("chunks") == LOG_ATTEMPTS == 3


def test_detects_log_compacted_during_the_read(store: Store, leader: Writing) -> None:
    """The head was read before; the snapshot that holds the rest is in the next one."""
    reading = Reading(store)
    head = store.head()

    def cleaned() -> None:
        leader.replace(state_of(FOUR), FOUR)
        store.lose_log(2, 3)

    reading.table.before["log"] = Once(cleaned)
    assert reading.reader.at(head) == state_of(FOUR)


def test_malformed_log_item_does_not_change_the_state_of_the_reader(store: Store, leader: Writing) -> None:
    """All changes are unpacked before the first is applied: a state may be one that is changed in place."""
    reading = Reading(store)
    reading.read()
    leader.flush(Change("nodes", "n1", None))
    leader.flush(FOUR)
    [good] = store.log_items(4)
    store.overwrite_log(replace(good, data=GARBAGE))
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read()
    cursor = reading.reader._cursor
    assert cursor is not None
    assert (cursor.version, cursor.state) == (3, state_of(ONE, TWO, THREE))
    store.overwrite_log(good)
    assert reading.read() == state_of(TWO, THREE, FOUR)


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize("data", [GARBAGE, b""], ids=["garbage", "of another kind"])
def test_reports_malformed_chunk_immediately_and_recovers_with_next_snapshot(store: Store, data: bytes) -> None:
    store.overwrite_chunk(data)
    reading = Reading(store)
    with pytest.raises(NothingPublished, match=MALFORMED):
        reading.read()
    assert reading.calls() == ["head", "chunks"]
    Writing(store).replace(state_of(FOUR), FOUR)
    assert reading.read() == state_of(FOUR)


@pytest.mark.usefixtures("leader")
def test_warm_reader_ignores_malformed_chunk(store: Store) -> None:
    reading = Reading(store)
    reading.read()
    store.overwrite_chunk(GARBAGE)
    Writing(store).flush(FOUR)
    assert reading.read() == state_of(ONE, TWO, THREE, FOUR)


@pytest.mark.parametrize("leased", [False, True], ids=["no head", "a head that is only a lease"])
def test_reports_empty_cache_and_recovers_after_the_first_publication(store: Store, leased: bool) -> None:
    reading = Reading(store)
    leader = Writing(store) if leased else None
    with pytest.raises(NothingPublished, match=NOTHING_PUBLISHED):
        reading.read()
    leader = leader or Writing(store)
    leader.replace(state_of(ONE), ONE)
    assert reading.read() == state_of(ONE)
