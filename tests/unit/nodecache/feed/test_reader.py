"""The reader: the data that it loads for a head, and the log items that it follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from berth.extender.deadline import Deadline
from berth.nodecache.feed.changes import Change, pack
from berth.nodecache.feed.head import PartVersions, PublishedVersion
from berth.nodecache.feed.reader import (
    DEADLINE_PASSED,
    INCOMPLETE,
    LOG_ATTEMPTS,
    MALFORMED,
    NOTHING_PUBLISHED,
    RETRY_SECONDS,
    LogPosition,
    NothingPublished,
    published_items,
    read_log,
)
from berth.nodecache.feed.table import LogItem
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.fakes.cache_tables import Once
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.feeds import Store, Writing, log_item, state_of
from tests.unit.nodecache.feed.reading import FOUR, GARBAGE, ONE, THREE, TWO, Reading


@pytest.mark.usefixtures("leader")
def test_cold_reader_loads_the_snapshot_and_the_log_after_it(store: Store) -> None:
    reading = Reading(store)
    assert reading.read() == state_of(ONE, TWO, THREE)
    assert reading.reader.version == 3
    assert reading.calls() == ["head", "chunks", "log"]


@pytest.mark.usefixtures("leader")
def test_reads_only_the_head_if_the_version_has_not_changed(store: Store) -> None:
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
    """Log items up to that version may be gone, or replaced by unpublished items."""
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    leader.replace(state_of(ONE, FOUR))
    store.overwrite_log(log_item(4, 0, (3, 0), Change("nodes", "n1", None)))
    reading.calls()
    assert reading.read() == state_of(ONE, FOUR)
    assert reading.calls() == ["head", "chunks"]


def test_unpublished_item_in_place_of_an_expired_one_causes_a_snapshot_load(store: Store, leader: Writing) -> None:
    """Happens if a reader keeps a head until items expire: the head's `compactedVersion` does not show the expiry."""
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
    """Happens after a restore from a backup. The state of the other epoch must not be kept."""
    reading = Reading(store)
    reading.read()
    store.point(last_epoch=5, newest={**store.pointer.newest, SnapshotPart.NODES: PublishedVersion(3, 5)})
    store.overwrite_log(log_item(3, 5, (2, 0), FOUR))
    assert reading.read() == state_of(ONE, TWO, FOUR)


def test_recreated_head_is_read_from_its_snapshot(store: Store, leader: Writing) -> None:
    """Versions and epochs start again; readers of the old head follow the new head, and ignore the old log."""
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


NODES, PODS = SnapshotPart.NODES, SnapshotPart.PODS
Versions = Mapping[SnapshotPart, tuple[int, int]]


def item(version: int, epoch: int, previous: tuple[int, int], part: SnapshotPart = NODES) -> LogItem:
    return LogItem(part, version, epoch, PublishedVersion(*previous), b"")


def pod(version: int, epoch: int, previous: tuple[int, int]) -> LogItem:
    return item(version, epoch, previous, PODS)


def versions(found: Versions) -> PartVersions:
    return {part: PublishedVersion(*version) for part, version in found.items()}


@pytest.mark.parametrize(
    ("items", "since", "through", "expected"),
    [
        pytest.param([], (4, 2), (4, 2), [], id="nothing was published"),
        pytest.param([item(5, 2, (4, 2))], (4, 2), (5, 2), [5], id="one item"),
        pytest.param([item(5, 2, (4, 1)), item(9, 3, (5, 2))], (4, 1), (9, 3), [5, 9], id="items of several leaders"),
        pytest.param([item(9, 2, (4, 2))], (4, 2), (9, 2), [9], id="versions of other parts between"),
        pytest.param([item(5, 1, (4, 1)), item(6, 2, (4, 1))], (4, 1), (6, 2), [6], id="an orphan before the newest"),
        pytest.param([item(5, 2, (4, 2)), item(6, 2, (5, 2))], (4, 2), (5, 2), [5], id="more items than published"),
        pytest.param([], (4, 2), (5, 2), None, id="the only item is missing"),
        pytest.param([item(6, 2, (5, 2))], (4, 2), (6, 2), None, id="the first item is missing"),
        pytest.param([item(5, 2, (4, 2))], (4, 2), (6, 2), None, id="the last item is missing"),
        pytest.param([item(5, 2, (4, 2)), item(7, 2, (6, 2))], (4, 2), (7, 2), None, id="a middle item is missing"),
        pytest.param([item(5, 1, (4, 1))], (4, 1), (5, 2), None, id="an orphan in place of the newest item"),
        pytest.param([item(5, 1, (4, 1)), item(6, 2, (5, 2))], (4, 1), (6, 2), None, id="orphan before newest item"),
        pytest.param([item(5, 3, (4, 2))], (4, 1), (5, 3), None, id="it follows an item other than the last one read"),
        pytest.param([item(5, 3, (2, 1))], (4, 1), (5, 3), None, id="it follows an item before the last one read"),
        pytest.param([item(5, 2, (5, 2))], (4, 2), (5, 2), None, id="a malformed item that follows itself"),
        pytest.param([pod(5, 2, (4, 2))], (4, 2), (5, 2), None, id="an item of another part in its place"),
    ],
)
def test_follows_only_published_items(
    items: list[LogItem], since: tuple[int, int], through: tuple[int, int], expected: list[int] | None
) -> None:
    found = published_items(items, versions({NODES: since}), versions({NODES: through, PODS: (9, 9)}))
    assert (None if found is None else [each.version for each in found]) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param([item(6, 2, (4, 2)), pod(5, 2, (3, 2)), pod(7, 2, (5, 2))], [5, 6, 7], id="items of both parts"),
        pytest.param([item(6, 2, (4, 2)), pod(6, 1, (3, 2)), pod(7, 2, (3, 2))], [6, 7], id="an orphan at one version"),
        pytest.param([item(6, 2, (4, 2)), pod(7, 2, (5, 2))], None, id="one part's item is missing"),
    ],
)
def test_applies_items_of_several_parts_in_version_order(items: list[LogItem], expected: list[int] | None) -> None:
    found = published_items(items, versions({NODES: (4, 2), PODS: (3, 2)}), versions({NODES: (6, 2), PODS: (7, 2)}))
    assert (None if found is None else [each.version for each in found]) == expected


class Queries(Store):
    """A table that records the queries of its log."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, Mapping[SnapshotPart, int]]] = []

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        self.asked.append((after, dict(through)))
        return super().log(uid, after, through)


@pytest.mark.parametrize(
    ("since", "through", "asked", "expected"),
    [
        pytest.param({NODES: (4, 2)}, {NODES: (4, 2), PODS: (9, 2)}, [], [], id="another part"),
        pytest.param({NODES: (4, 2), PODS: (3, 2)}, {NODES: (4, 2), PODS: (9, 2)}, [{PODS: 9}], None, id="one of two"),
        pytest.param(
            {NODES: (4, 2), PODS: (3, 2)}, {NODES: (8, 2), PODS: (9, 2)}, [{NODES: 8, PODS: 9}], None, id="both parts"
        ),
        pytest.param({NODES: (4, 2)}, {NODES: (4, 3)}, [], None, id="the same version of another epoch differs"),
        pytest.param({NODES: (4, 2)}, {NODES: (6, 3)}, [], None, id="another history after a restore"),
    ],
)
def test_queries_only_the_parts_that_changed(
    since: Versions, through: Versions, asked: list[Mapping[SnapshotPart, int]], expected: list[LogItem] | None
) -> None:
    table = Queries()
    found = read_log(table, "uid", LogPosition(7, versions(since)), versions(through))
    assert (table.asked, found) == ([(7, each) for each in asked], expected)


# The reader recovers from missing and malformed items.


@pytest.mark.usefixtures("leader")
def test_retries_a_chunk_that_is_not_visible_yet(store: Store) -> None:
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
def test_gives_up_after_three_reads_of_a_log_with_a_gap(store: Store) -> None:
    store.lose_log(2)
    reading = Reading(store)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read()
    assert reading.calls().count("chunks") == LOG_ATTEMPTS == 3


def test_detects_log_compacted_during_the_read(store: Store, leader: Writing) -> None:
    """The head was read before the compaction; the next head names the snapshot."""
    reading = Reading(store)
    head = store.head()

    def cleaned() -> None:
        leader.replace(state_of(FOUR), FOUR)
        store.lose_log(2, 3)

    reading.table.before["log"] = Once(cleaned)
    assert reading.reader.at(head) == state_of(FOUR)


def test_malformed_log_item_does_not_change_the_state_of_the_reader(store: Store, leader: Writing) -> None:
    """All changes are unpacked before the first is applied, because a view may change its state in place."""
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
@pytest.mark.parametrize("data", [GARBAGE, b""], ids=["garbage", "empty"])
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
