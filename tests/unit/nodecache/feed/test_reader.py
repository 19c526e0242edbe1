"""The reader: what it loads for which head, and that nothing bad in the table makes it go wrong for good."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest

from berth.extender.deadline import Deadline
from berth.nodecache.feed.changes import Change, pack
from berth.nodecache.feed.head import FUTURE_SCHEMA, SCHEMA_VERSION
from berth.nodecache.feed.reader import (
    ATTEMPTS,
    DEADLINE_PASSED,
    INCOMPLETE,
    LOG_ATTEMPTS,
    MALFORMED,
    NOTHING_PUBLISHED,
    RETRY_SECONDS,
    NodeCacheReader,
    NothingPublished,
)
from berth.nodecache.feed.table import LogItem, TableUnavailable
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts
from tests.fakes.cache_tables import InterruptedCacheTable, Once, outage
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.feeds import InPlaceView, State, Store, Writing, node, state_of

ONE, TWO, THREE, FOUR = (node(f"n{number}") for number in (1, 2, 3, 4))


class Reading:
    """A reader whose view changes states in place, so that a change applied too early shows."""

    def __init__(
        self,
        store: Store,
        before: dict[str, Callable[[], object]] | None = None,
        sleep: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.table = InterruptedCacheTable(store, before or {})
        self.reader: NodeCacheReader[State] = NodeCacheReader(self.table, InPlaceView(), sleep)

    def read(self, parts: Parts = ALL_PARTS) -> State:
        """The state, as a call gets it that needs these parts."""
        return dict(self.reader.at(self.table.head(), parts=parts))

    def calls(self) -> list[str]:
        """Since the last time."""
        calls, self.table.calls = self.table.calls, []
        return calls


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def leader(store: Store) -> Writing:
    """Has published ONE as a snapshot (version 1), and TWO and THREE as log items (versions 2 and 3)."""
    leader = Writing(store)
    leader.replace(state_of(ONE), ONE)
    leader.flush(TWO)
    leader.flush(THREE)
    return leader


# -------------------------------------------------------------------------------------------------- what is read when
@pytest.mark.usefixtures("leader")
def test_cold_reader_loads_snapshot_and_log_after_it(store: Store) -> None:
    reading = Reading(store)
    assert reading.read() == state_of(ONE, TWO, THREE)
    assert reading.reader.version == 3
    assert reading.calls() == ["head", "chunks", "log"]


@pytest.mark.usefixtures("leader")
def test_reads_only_head_at_same_version(store: Store) -> None:
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


def test_reader_below_compacted_version_loads_snapshot(store: Store, leader: Writing) -> None:
    """Log items up to there may be gone, and anything may stand in their places."""
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    leader.replace(state_of(ONE, FOUR))
    store.overwrite_log(LogItem(4, 0, 0, pack([Change("nodes", "n1", None)]).items[0]))
    reading.calls()
    assert reading.read() == state_of(ONE, FOUR)
    assert reading.calls() == ["head", "chunks"]


@pytest.mark.usefixtures("leader")
def test_ignores_older_head(store: Store) -> None:
    reading = Reading(store)
    old = store.head()
    Writing(store).flush(FOUR)
    assert reading.read() == state_of(ONE, TWO, THREE, FOUR)
    assert reading.reader.at(old) == state_of(ONE, TWO, THREE, FOUR)
    assert reading.reader.version == 4


# -------------------------------------------------------------------------------------------- the parts of the state
POD, OTHER_POD = (Change("pods", f"ns/{name}", {"metadata": {"name": name}}) for name in ("pod", "other"))
BUDGET = Change("poddisruptionbudgets", "ns/budget", {"metadata": {"name": "budget"}})


@pytest.fixture
def mixed(store: Store) -> Writing:
    """Has published ONE, BUDGET and POD as a snapshot, and TWO and OTHER_POD in one flush."""
    leader = Writing(store)
    leader.replace(state_of(ONE, BUDGET, POD))
    leader.flush(OTHER_POD, TWO)
    return leader


@pytest.mark.usefixtures("mixed")
@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        pytest.param(NODES_ONLY, [ONE, TWO], id="nodes"),
        pytest.param(NODES_AND_PODS, [ONE, POD, TWO, OTHER_POD], id="nodes and pods"),
        pytest.param(ALL_PARTS, [ONE, BUDGET, POD, TWO, OTHER_POD], id="everything"),
    ],
)
def test_loads_needed_parts_alone(store: Store, parts: Parts, wanted: list[Change]) -> None:
    assert Reading(store).read(parts) == state_of(*wanted)


@pytest.mark.usefixtures("mixed")
def test_does_not_decode_other_parts(store: Store) -> None:
    for index in (1, 2):
        store.overwrite_chunk(GARBAGE, index)
    [_, pods] = store.log(store.uid, 1, 3)
    store.overwrite_log(replace(pods, data=GARBAGE))
    assert Reading(store).read(NODES_ONLY) == state_of(ONE, TWO)


def test_follows_versions_that_change_other_parts(store: Store, mixed: Writing) -> None:
    reading = Reading(store)
    before = reading.reader.at(store.head(), parts=NODES_ONLY)
    mixed.flush(POD)
    assert reading.reader.at(store.head(), parts=NODES_ONLY) is before
    assert reading.reader.version == store.pointer.version
    mixed.flush(THREE)
    reading.calls()
    assert reading.read(NODES_ONLY) == state_of(ONE, TWO, THREE)
    assert reading.calls() == ["head", "log"]


@pytest.mark.parametrize("lost", [2, 3], ids=["of its own part", "of another part"])
def test_missing_log_item_of_any_part_breaks_the_chain(store: Store, mixed: Writing, lost: int) -> None:
    """An orphan of another part may stand in the place of a published item of this one."""
    store.lose_log(lost)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        Reading(store).read(NODES_ONLY)
    assert mixed.writer.pointer == store.pointer


@pytest.mark.usefixtures("mixed")
def test_loads_part_that_a_later_call_needs_and_keeps_it(store: Store) -> None:
    reading = Reading(store)
    reading.read(NODES_ONLY)
    everything = state_of(ONE, BUDGET, POD, TWO, OTHER_POD)
    reading.calls()
    assert reading.read(ALL_PARTS) == everything
    assert reading.calls() == ["head", "chunks", "log"]
    assert reading.read(NODES_ONLY) == everything
    assert reading.calls() == ["head"]


def test_load_of_a_further_part_does_not_go_back_to_an_older_head(store: Store, mixed: Writing) -> None:
    reading = Reading(store)
    old = store.head()
    mixed.flush(THREE)
    reading.read(NODES_ONLY)
    assert reading.reader.at(old, parts=NODES_AND_PODS) == state_of(ONE, TWO, THREE, POD, OTHER_POD)
    assert reading.reader.version == store.pointer.version


@pytest.mark.usefixtures("mixed")
def test_loads_needed_parts_of_a_snapshot_that_is_not_divided(store: Store) -> None:
    """As an earlier release wrote it: all parts in one item, in the snapshot and in the log."""
    assert store.pointer.snapshot is not None
    store.point(snapshot=replace(store.pointer.snapshot, chunks=1, chunks_by_part=None))
    store.overwrite_chunk(_undivided(ONE, BUDGET, POD))
    [nodes, _] = store.log(store.uid, 1, 3)
    store.overwrite_log(replace(nodes, data=_undivided(OTHER_POD, TWO), part=None))
    assert Reading(store).read(NODES_ONLY) == state_of(ONE, TWO)
    assert Reading(store).read(NODES_AND_PODS) == state_of(ONE, POD, TWO, OTHER_POD)
    assert Writing(store).compact(state_of(ONE, BUDGET, POD, TWO, OTHER_POD))
    assert store.pointer.snapshot.chunks_by_part is not None
    assert Reading(store).read(NODES_ONLY) == state_of(ONE, TWO)


def _undivided(*changes: Change) -> bytes:
    return zlib.compress(orjson.dumps([tuple(change) for change in changes]))


# -------------------------------------------------------------------------------------------------------- the chain
@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    "stands",
    [
        pytest.param(LogItem(3, 7, 0, pack([FOUR]).items[0]), id="another epoch's, in the place of the newest"),
        pytest.param(LogItem(2, 7, 0, pack([FOUR]).items[0]), id="another epoch's, before it"),
        pytest.param(LogItem(2, 0, 7, pack([FOUR]).items[0]), id="one that follows another item"),
    ],
)
def test_does_not_apply_items_outside_the_chain(store: Store, stands: LogItem) -> None:
    store.overwrite_log(stands)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        Reading(store).read()


def test_orphan_in_place_of_expired_item_costs_a_snapshot(store: Store, leader: Writing) -> None:
    """A reader that held its head for as long as an item lives; `compactedVersion` says nothing of it."""
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    old = store.head()
    assert leader.writer.pointer is not None
    snapshot = leader.writer._with_snapshot(state_of(ONE, TWO, THREE, FOUR), leader.writer.pointer)
    store.point(snapshot=snapshot.snapshot)
    store.overwrite_log(LogItem(4, 9, 0, pack([Change("nodes", "n1", None)]).items[0]))
    assert reading.reader.at(old) == state_of(ONE, TWO, THREE, FOUR)


@pytest.mark.usefixtures("leader")
def test_same_version_of_another_epoch_differs(store: Store) -> None:
    """As after a restore from a backup. What was read of the one is not kept for the other."""
    reading = Reading(store)
    reading.read()
    store.point(last_epoch=5)
    store.overwrite_log(LogItem(3, 5, 0, pack([FOUR]).items[0]))
    assert reading.read() == state_of(ONE, TWO, FOUR)


def test_recreated_head_is_read_from_snapshot(store: Store, leader: Writing) -> None:
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
def test_slow_thread_does_not_return_to_deleted_head(store: Store) -> None:
    reading = Reading(store)
    reading.read()
    old = store.head()
    store.item.delete()
    Writing(store).replace(state_of(FOUR), FOUR)
    assert reading.read() == state_of(FOUR)
    assert reading.reader.at(old) == state_of(FOUR)


# ------------------------------------------------------------------------------------------------- what is not there
@pytest.mark.usefixtures("leader")
def test_retries_chunk_that_is_not_visible_yet(store: Store) -> None:
    slept: list[float] = []

    def appears(seconds: float) -> None:
        slept.append(seconds)
        store.overwrite_chunk(pack([ONE]).items[0])

    store.lose_chunk()
    assert Reading(store, sleep=appears).read() == state_of(ONE, TWO, THREE)
    assert slept == [RETRY_SECONDS]


@pytest.mark.usefixtures("leader")
def test_names_missing_chunk_after_five_attempts(store: Store) -> None:
    """A chunk is read eventually consistent: unlike a log item, it may come later than the third attempt."""
    store.lose_chunk()
    reading = Reading(store)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read()
    assert reading.calls().count("chunks") == ATTEMPTS == 5


def test_gap_in_log_costs_a_snapshot(store: Store, leader: Writing) -> None:
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    objects = state_of(ONE, TWO, THREE, FOUR)
    leader.clock.advance(24 * 3600)
    assert leader.compact(objects)
    store.lose_log(4)
    reading.calls()
    assert reading.read() == objects
    assert reading.calls() == ["head", "log", "chunks"]


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize(
    ("seconds", "waits"),
    [
        pytest.param(0.0, [], id="none left"),
        pytest.param(0.2, [0.05, 0.1], id="for two waits, not for a third"),
        pytest.param(9.0, [0.05, 0.1, 0.15, 0.2], id="more than it would wait"),
    ],
)
def test_waits_for_missing_chunk_while_there_is_time(store: Store, seconds: float, waits: list[float]) -> None:
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
def test_reports_gap_after_snapshot_without_loading_it_again(store: Store) -> None:
    store.lose_log(2)
    reading = Reading(store)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read()
    assert reading.calls().count("chunks") == LOG_ATTEMPTS == 3


def test_detects_log_that_was_compacted_during_read(store: Store, leader: Writing) -> None:
    """The head was read before; the snapshot that holds the rest is in the next one."""
    reading = Reading(store)
    head = store.head()

    def cleaned() -> None:
        leader.replace(state_of(FOUR), FOUR)
        store.lose_log(2, 3)

    reading.table.before["log"] = Once(cleaned)
    assert reading.reader.at(head) == state_of(FOUR)


# --------------------------------------------------------------------------------------------------- what is malformed
GARBAGE = b"not what a writer wrote"


def test_malformed_log_item_that_snapshot_covers_costs_a_snapshot(store: Store, leader: Writing) -> None:
    reading = Reading(store)
    reading.read()
    leader.flush(FOUR)
    leader.clock.advance(24 * 3600)
    assert leader.compact(state_of(ONE, TWO, THREE, FOUR))
    store.overwrite_log(LogItem(4, 0, 0, GARBAGE))
    assert reading.read() == state_of(ONE, TWO, THREE, FOUR)


def test_malformed_log_item_keeps_state_of_reader(store: Store, leader: Writing) -> None:
    """All changes are unpacked before the first is applied: a state may be one that is changed in place."""
    reading = Reading(store)
    reading.read()
    leader.flush(Change("nodes", "n1", None))
    leader.flush(FOUR)
    good = store.log(store.uid, 4, 5)[0]
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


# ----------------------------------------------------------------------------------------------------- named causes
@pytest.mark.usefixtures("leader")
def test_names_newer_schema_and_recovers_after_it(store: Store) -> None:
    reading = Reading(store)
    reading.read()
    store.point(oldest_reader=SCHEMA_VERSION + 1, version=4)
    with pytest.raises(NothingPublished, match=FUTURE_SCHEMA):
        reading.read()
    store.point(oldest_reader=SCHEMA_VERSION, version=3)
    assert reading.read() == state_of(ONE, TWO, THREE)


@pytest.mark.parametrize("leased", [False, True], ids=["no head", "a head that is only a lease"])
def test_names_empty_cache_and_recovers_after_first_publication(store: Store, leased: bool) -> None:
    reading = Reading(store)
    leader = Writing(store) if leased else None
    with pytest.raises(NothingPublished, match=NOTHING_PUBLISHED):
        reading.read()
    leader = leader or Writing(store)
    leader.replace(state_of(ONE), ONE)
    assert reading.read() == state_of(ONE)


@pytest.mark.usefixtures("leader")
@pytest.mark.parametrize("method", ["head", "log", "chunks"])
def test_raises_error_of_table_and_recovers_after_outage(store: Store, method: str) -> None:
    reading = Reading(store, {method: Once(outage)})
    with pytest.raises(TableUnavailable, match="throttled"):
        reading.read()
    assert reading.read() == state_of(ONE, TWO, THREE)


@pytest.mark.usefixtures("leader")
def test_head_without_uid_is_malformed(store: Store) -> None:
    store.item.update(lambda item: True, {"uid": ""})
    with pytest.raises(TableUnavailable, match="malformed"):
        Reading(store).read()
