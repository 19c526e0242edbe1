"""The writer: when changes become visible, unconfirmed publications, and one announcement for every change."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.nodecache.feed.changes import Change, OmissionReason
from berth.nodecache.feed.head import Pointer, PublishedVersion, in_every_part
from berth.nodecache.feed.reader import published_items
from berth.nodecache.feed.table import StaleFence, TableUnavailable
from berth.nodecache.feed.writer import NotLeading, Retention
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.unit.nodecache.feed.feeds import FailingTable, State, Store, Writing, leader_of, node, read, state_of

ONE, TWO, THREE = (node(f"n{number}") for number in (1, 2, 3))
DAY = 24 * 3600.0


@pytest.fixture
def leader(store: Store) -> Writing:
    return leader_of(store)


def chain(store: Store, since: PublishedVersion) -> list[int] | None:
    """Return the versions of the published items of nodes since that version."""
    items = published_items(store.log_items(), {SnapshotPart.NODES: since}, store.pointer.newest)
    return None if items is None else [item.version for item in items]


def test_flush_writes_log_items_before_its_publication(store: Store, leader: Writing) -> None:
    leader.flush(TWO, THREE)
    assert leader.table.calls == ["put_log", "publish"]
    assert read(store) == state_of(ONE, TWO, THREE)


def test_flush_without_changes_is_a_heartbeat(store: Store, leader: Writing) -> None:
    before = store.pointer
    leader.clock.advance(2.0)
    leader.flush()
    assert leader.table.calls == ["publish"]
    assert store.pointer.published == before.published
    assert store.pointer.heartbeat == before.heartbeat + 2.0


def test_chain_of_log_items_continues_across_leaders_and_snapshots(store: Store, leader: Writing) -> None:
    leader.flush(TWO)
    second = Writing(store)
    second.flush(THREE)
    second.flush(ONE, TWO)
    assert store.pointer.published == PublishedVersion(4, 1)
    assert chain(store, PublishedVersion(1, 0)) == [2, 3, 4]
    second.replace(state_of(ONE))
    assert store.pointer.snapshot is not None
    assert store.pointer.snapshot.newest == store.pointer.newest == in_every_part(PublishedVersion(5, 1))
    third = Writing(store)
    third.flush(TWO)
    assert chain(store, PublishedVersion(5, 1)) == [6]


def test_does_not_send_requests_after_the_lease_expired(store: Store, leader: Writing) -> None:
    leader.lease.run_out()
    with pytest.raises(NotLeading):
        leader.flush(TWO)
    assert leader.table.calls == []
    leader.lease.step()
    leader.flush(THREE)
    assert read(store) == state_of(ONE, TWO, THREE)


def test_stops_the_flush_if_the_lease_expires_between_requests(store: Store, leader: Writing) -> None:
    class RunsOut(FailingTable):
        def _called(self, method: str) -> None:
            super()._called(method)
            leader.lease.run_out()

    leader.writer.table = table = RunsOut(store)
    with pytest.raises(NotLeading):
        leader.flush(TWO)
    assert table.calls == ["put_log"]
    assert read(store) == state_of(ONE)


def test_replaces_expiring_unpublished_items_with_snapshot(store: Store, leader: Writing) -> None:
    """Their versions are never used again: a late attempt may still write, and even publish, these items."""
    leader.table.faults["publish"] = ["late"]
    with pytest.raises(TableUnavailable):
        leader.flush(TWO)
    overdue = [leader.writer.is_backlog_expiring]
    leader.clock.advance(DAY / 3)
    overdue.append(leader.writer.is_backlog_expiring)
    assert overdue == [False, True]
    leader.replace(state_of(ONE, TWO, THREE), THREE)
    assert store.pointer.version == store.pointer.compacted_version == 3
    assert leader.announced == [[TWO, THREE]]
    leader.table.arrive()
    assert store.pointer.version == 3
    assert read(store) == state_of(ONE, TWO, THREE)


def test_replacement_skips_the_versions_of_pending_items(store: Store, leader: Writing) -> None:
    """A late attempt may still write the items, and a version must not have two contents in one epoch."""
    leader.table.faults["put_log"] = ["", "late"]
    pod = Change("pods", "ns/p", {})
    with pytest.raises(TableUnavailable):
        leader.flush(TWO, pod)
    leader.replace(state_of(ONE, TWO, THREE, pod), THREE)
    assert store.pointer.version == 4
    leader.table.arrive()
    assert [item.version for item in store.log_items()] == [2, 3]
    assert read(store) == state_of(ONE, TWO, THREE, pod)
    leader.flush(Change("pods", "ns/p", None))
    assert read(store) == state_of(ONE, TWO, THREE)


FAULTS = st.lists(st.sampled_from(["", "", "refused", "lost", "late"]), max_size=6)
STEPS = st.sampled_from(["flush", "flush", "heartbeat", "compact", "replace", "renew", "arrive"])


class Announcing:
    """A leader that publishes changes, and checks in its callback that they are visible."""

    def __init__(self) -> None:
        self.store = Store()
        self.leader = Writing(self.store, retention=Retention(least_log_bytes=0, retry=0.0))
        self.leader.writer.announce = self.announced
        self.objects: State = {}
        self.handed_over: list[Change] = []

    def announced(self, changes: Sequence[Change], _: Pointer) -> None:
        visible = read(self.store)
        for resource, key, kept in changes:
            assert visible[resource, key] == kept
        self.leader.announced.append(list(changes))

    def changed(self) -> Change:
        change = node(f"n{len(self.handed_over)}")
        self.handed_over.append(change)
        self.objects |= state_of(change)
        return change

    def make(self, step: str) -> None:
        leader = self.leader
        match step:
            case "flush":
                leader.flush(self.changed())
            case "heartbeat":
                leader.flush()
            case "compact":
                leader.compact(self.objects)
            case "replace":
                change = self.changed()
                leader.replace(self.objects, change)
            case "renew":
                leader.lease.step()
            case "arrive":
                leader.table.arrive()


@given(st.lists(st.tuples(STEPS, FAULTS, FAULTS, FAULTS), max_size=15))
def test_announces_every_change_exactly_once_despite_faults(
    steps: list[tuple[str, list[str], list[str], list[str]]],
) -> None:
    history = Announcing()
    leader = history.leader
    for step, log, chunks, publication in steps:
        leader.table.faults = {"put_log": log, "put_chunks": chunks, "publish": publication}
        try:
            history.make(step)
        except (TableUnavailable, NotLeading, StaleFence):
            leader.lease.step()
    leader.table.faults = {}
    leader.lease.step()
    leader.flush()
    assert [change for changes in leader.announced for change in changes] == history.handed_over
    assert read(history.store) == history.objects
    assert leader.writer.is_fully_published


def test_failed_callback_does_not_repeat_the_publication(store: Store, leader: Writing) -> None:
    def fail(changes: Sequence[Change], _: Pointer) -> None:
        leader.announced.append(list(changes))
        raise RuntimeError

    leader.writer.announce = fail
    with pytest.raises(RuntimeError):
        leader.flush(TWO)
    with pytest.raises(RuntimeError):
        leader.flush(THREE)
    assert leader.announced == [[TWO], [THREE]]
    assert read(store) == state_of(ONE, TWO, THREE)


# The writer's snapshots: when one is due, how long its items live, and objects that cannot be stored.


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


@pytest.mark.parametrize("off", [1, -1], ids=["old", "written by a clock that was ahead"])
def test_snapshot_is_due_long_before_its_chunks_expire(store: Store, leader: Writing, off: int) -> None:
    objects = state_of(ONE)
    leader.clock.set_wall(off * DAY / 5)
    assert not leader.compact(objects)
    leader.clock.set_wall(off * DAY / 10)
    leader.lease.step()
    assert leader.compact(objects)
    assert read(store) == objects


def test_log_items_expire_with_the_second_snapshot_after_them(store: Store, leader: Writing) -> None:
    """Until then, a reader that still has the previous snapshot can follow the log from there."""
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


@pytest.mark.parametrize("after", [node("bad"), Change("nodes", "bad", None)], ids=["storable again", "deleted"])
def test_object_is_no_longer_counted_when_it_is_storable_or_deleted(leader: Writing, after: Change) -> None:
    leader.flush(BAD)
    leader.flush(after)
    assert leader.writer.omissions == {}


def test_snapshot_omits_object_that_cannot_be_stored(store: Store, leader: Writing) -> None:
    objects = state_of(ONE, TWO, BAD)
    leader.replace(objects)
    assert read(store) == state_of(ONE, TWO)
    assert leader.writer.omissions == {("nodes", "bad"): OmissionReason.NOT_JSON}
