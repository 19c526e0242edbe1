"""The reader: what it loads for which head, and which log items it follows."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import PublishedVersion
from berth.nodecache.feed.reader import (
    INCOMPLETE,
    NOTHING_PUBLISHED,
    NothingPublished,
)
from berth.nodecache.feed.table import LogItem
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.unit.nodecache.feed.feeds import Store, Writing, log_item, state_of
from tests.unit.nodecache.feed.reading import FOUR, ONE, THREE, TWO, Reading


# -------------------------------------------------------------------------------------------------- what is read when
@pytest.mark.usefixtures("leader")
def test_cold_reader_loads_the_snapshot_and_the_log_after_it(store: Store) -> None:
    reading = Reading(store)
    assert reading.read() == state_of(ONE, TWO, THREE)
    assert reading.reader.version == 3
    assert reading.calls() == ["head", "chunks", "log"]


@pytest.mark.usefixtures("leader")
def test_reads_only_the_head_if_the_version_is_the_same(store: Store) -> None:
    reading = Reading(store)
    reading.read()
    reading.calls()
    assert reading.read() == state_of(ONE, TWO, THREE)
    assert reading.calls() == ["head"]


def test_warm_reader_reads_new_log_items(store: Store, leader: Writing) -> None:
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    reading.calls()
    assert reading.read() == state_of(ONE, TWO, THREE, FOUR)
    assert reading.calls() == ["head", "log"]


def test_reader_below_compacted_version_loads_the_snapshot(store: Store, leader: Writing) -> None:
    """Log items up to there may be gone, and anything may stand in their places."""
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    leader.replace(state_of(ONE, FOUR))
    store.overwrite_log(log_item(4, 0, (3, 0), Change("nodes", "n1", None)))
    reading.calls()
    assert reading.read() == state_of(ONE, FOUR)
    assert reading.calls() == ["head", "chunks"]


@pytest.mark.usefixtures("leader")
def test_ignores_an_older_head(store: Store) -> None:
    reading = Reading(store)
    old = store.head()
    Writing(store).flush(FOUR)
    assert reading.read() == state_of(ONE, TWO, THREE, FOUR)
    assert reading.reader.at(old) == state_of(ONE, TWO, THREE, FOUR)
    assert reading.reader.version == 4


# -------------------------------------------------------------------------------------------------------- the chain
@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    "stands",
    [
        pytest.param(log_item(3, 7, (2, 0), FOUR), id="item of another epoch in place of the newest"),
        pytest.param(log_item(2, 7, (1, 0), FOUR), id="item of another epoch before the newest"),
        pytest.param(log_item(2, 0, (1, 7), FOUR), id="item that follows another one"),
    ],
)
def test_does_not_apply_log_items_outside_the_chain(store: Store, stands: LogItem) -> None:
    store.overwrite_log(stands)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        Reading(store).read()


def test_orphan_in_place_of_an_expired_item_makes_the_reader_load_a_snapshot(store: Store, leader: Writing) -> None:
    """A reader that held its head for as long as an item lives; `compactedVersion` says nothing of it."""
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    old = store.head()
    assert leader.writer.pointer is not None
    snapshot = leader.writer._with_snapshot(state_of(ONE, TWO, THREE, FOUR), leader.writer.pointer)
    store.point(snapshot=snapshot.snapshot)
    store.overwrite_log(log_item(4, 9, (3, 0), Change("nodes", "n1", None)))
    assert reading.reader.at(old) == state_of(ONE, TWO, THREE, FOUR)


@pytest.mark.usefixtures("leader")
def test_same_version_of_another_epoch_is_read_again(store: Store) -> None:
    """Happens after a restore from a backup. State read at one version is not kept for the other."""
    reading = Reading(store)
    reading.read()
    store.point(last_epoch=5, newest={**store.pointer.newest, SnapshotPart.NODES: PublishedVersion(3, 5)})
    store.overwrite_log(log_item(3, 5, (2, 0), FOUR))
    assert reading.read() == state_of(ONE, TWO, FOUR)


def test_recreated_head_is_read_from_its_snapshot(store: Store, leader: Writing) -> None:
    """At version 0 and epoch 0 again; the old one's log is not in the way, and its readers do not stay with it."""
    leader.flush(FOUR)
    reading = Reading(store)
    reading.read()
    store.item.delete()
    with pytest.raises(NothingPublished, match=NOTHING_PUBLISHED):
        reading.read()
    anew = Writing(store)
    anew.replace(state_of(TWO), TWO)
    assert reading.read() == state_of(TWO)
    anew.flush(ONE)
    anew.flush(THREE)
    assert reading.read() == state_of(TWO, ONE, THREE)


@pytest.mark.usefixtures("leader")
def test_slow_thread_does_not_return_to_a_deleted_head(store: Store) -> None:
    reading = Reading(store)
    reading.read()
    old = store.head()
    store.item.delete()
    Writing(store).replace(state_of(FOUR), FOUR)
    assert reading.read() == state_of(FOUR)
    assert reading.reader.at(old) == state_of(FOUR)
