"""The writer's snapshots: when one is due, how long its items live, and objects that cannot be stored."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.changes import Change, OmissionReason
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.writer import Retention
from tests.unit.nodecache.feed.feeds import FailingTable, Store, Writing, leader_of, node, read, state_of

ONE, TWO, THREE = (node(f"n{number}") for number in (1, 2, 3))
DAY = 24 * 3600.0


@pytest.fixture
def leader(store: Store) -> Writing:
    return leader_of(store)


def test_snapshot_is_due_when_the_log_is_larger_than_the_last_snapshot(store: Store) -> None:
    leader = Writing(store, retention=Retention(least_log_bytes=300))
    objects = state_of(ONE)
    leader.replace(objects, ONE)
    flushes = 0
    while not leader.compact(objects):
        flushes += 1
        changed = node("n1", revision=flushes)
        objects |= state_of(changed)
        leader.flush(changed)
    assert flushes > 1
    assert store.pointer.log_bytes == 0
    assert read(store) == objects


@pytest.mark.parametrize("off", [1, -1], ids=["old", "of a clock that was ahead"])
def test_snapshot_is_due_long_before_its_chunks_expire(store: Store, leader: Writing, off: int) -> None:
    objects = state_of(ONE)
    leader.clock.set_wall(off * DAY / 5)
    assert not leader.compact(objects)
    leader.clock.set_wall(off * DAY / 10)
    leader.lease.step()
    assert leader.compact(objects)
    assert read(store) == objects


def test_log_items_expire_with_the_second_snapshot_after_them(store: Store, leader: Writing) -> None:
    """Until then they update a reader that has the last snapshot."""
    for version in (2, 3):
        leader.flush(node(f"n{version}"))
        before = store.pointer.snapshot
        assert before is not None
        leader.clock.advance(DAY)
        assert leader.compact(state_of(ONE, TWO, THREE))
        assert store.pointer.compacted_version == before.version


def test_retries_failed_snapshot_with_delay(leader: Writing) -> None:
    leader.clock.advance(DAY)
    leader.table.faults["put_chunks"] = ["refused"]
    with pytest.raises(TableUnavailable):
        leader.compact(state_of(ONE))
    leader.clock.advance(29.0)
    assert not leader.compact(state_of(ONE))
    leader.clock.advance(2.0)
    assert leader.compact(state_of(ONE))


def test_each_snapshot_attempt_writes_its_own_chunks(store: Store, leader: Writing) -> None:
    ids: list[str] = []

    class Noting(FailingTable):
        def put_chunks(self, snapshot_id: str, *rest: object) -> None:
            ids.append(snapshot_id)
            super().put_chunks(snapshot_id, *rest)  # type: ignore[arg-type]

    leader.writer.table = table = Noting(store)
    table.faults["put_chunks"] = ["lost"]
    with pytest.raises(TableUnavailable):
        leader.replace(state_of(TWO), TWO)
    leader.replace(state_of(TWO, THREE), THREE)
    assert len(set(ids)) == len(ids) == 2
    assert read(store) == state_of(TWO, THREE)


BAD = Change("nodes", "bad", {"metadata": {"name": "bad"}, "spec": "\ud800"})


def test_object_that_cannot_be_stored_is_published_as_deleted_and_counted(store: Store, leader: Writing) -> None:
    leader.flush(TWO, BAD, Change("nodes", "n1", None))
    assert read(store) == state_of(TWO)
    assert leader.writer.omissions == {("nodes", "bad"): OmissionReason.NOT_JSON}
    leader.flush(BAD)
    assert len(leader.writer.omissions) == 1


@pytest.mark.parametrize("after", [node("bad"), Change("nodes", "bad", None)], ids=["mended", "gone"])
def test_object_is_no_longer_counted_when_it_is_storable_or_deleted(leader: Writing, after: Change) -> None:
    leader.flush(BAD)
    leader.flush(after)
    assert leader.writer.omissions == {}


def test_snapshot_omits_object_that_cannot_be_stored(store: Store, leader: Writing) -> None:
    objects = state_of(ONE, TWO, BAD)
    leader.replace(objects)
    assert read(store) == state_of(ONE, TWO)
    assert leader.writer.omissions == {("nodes", "bad"): OmissionReason.NOT_JSON}
