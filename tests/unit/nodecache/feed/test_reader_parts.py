"""The reader loads the parts of the state that its calls need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue
from threading import Thread

import pytest

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.head import FUTURE_SCHEMA, SCHEMA_VERSION, PublishedVersion
from berth.nodecache.feed.reader import INCOMPLETE, NothingPublished
from berth.nodecache.feed.table import LogItem, StaleFence
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts, SnapshotPart
from tests.unit.nodecache.feed.feeds import State, Store, Writing, state_of
from tests.unit.nodecache.feed.reading import GARBAGE, ONE, THREE, TWO, Reading

POD, OTHER_POD = (Change("pods", f"ns/{name}", {"metadata": {"name": name}}) for name in ("pod", "other"))
BUDGET = Change("poddisruptionbudgets", "ns/budget", {"metadata": {"name": "budget"}})


@pytest.fixture
def mixed(store: Store) -> Writing:
    """Return a leader that has published ONE, BUDGET and POD as a snapshot, and TWO and OTHER_POD in one flush."""
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
def test_loads_only_the_needed_parts(store: Store, parts: Parts, wanted: list[Change]) -> None:
    assert Reading(store).read(parts) == state_of(*wanted)


@pytest.mark.usefixtures("mixed")
def test_ignores_malformed_items_of_parts_that_the_call_does_not_need(store: Store) -> None:
    for index in (1, 2):
        store.overwrite_chunk(GARBAGE, index)
    [_, pods] = store.log_items(1)
    store.overwrite_log(replace(pods, data=GARBAGE))
    assert Reading(store).read(NODES_ONLY) == state_of(ONE, TWO)
    store.lose_log(pods.version)
    assert Reading(store).read(NODES_ONLY) == state_of(ONE, TWO)


def test_cold_start_does_not_read_the_log_of_unchanged_parts(store: Store, mixed: Writing) -> None:
    assert mixed.compact_now(state_of(ONE, BUDGET, POD, TWO, OTHER_POD))
    mixed.flush(POD)
    reading = Reading(store)
    assert reading.read(NODES_ONLY) == state_of(ONE, TWO)
    assert reading.calls() == ["head", "chunks"]
    assert Reading(store).read(NODES_AND_PODS) == state_of(ONE, POD, TWO, OTHER_POD)


def test_does_not_send_a_second_request_if_only_other_parts_changed(store: Store, mixed: Writing) -> None:
    reading = Reading(store)
    before = reading.reader.at(store.head(), parts=NODES_ONLY)
    for _ in range(3):
        mixed.flush(POD)
        reading.calls()
        assert reading.reader.at(reading.table.head(), parts=NODES_ONLY) is before
        assert reading.reader.version == store.pointer.version
        assert reading.calls() == ["head"]
    mixed.flush(THREE)
    assert reading.read(NODES_ONLY) == state_of(ONE, TWO, THREE)
    assert reading.calls() == ["head", "log"]


def test_does_not_load_a_snapshot_if_only_other_parts_were_compacted(store: Store, mixed: Writing) -> None:
    """Happens in an environment that was frozen for hours while the parts that it reads did not change."""
    reading = Reading(store)
    reading.read(NODES_ONLY)
    for _ in range(2):
        mixed.flush(POD)
        assert mixed.compact_now(state_of(ONE, BUDGET, POD, TWO, OTHER_POD))
    assert reading.reader.version < store.pointer.compacted_version
    reading.calls()
    assert reading.read(NODES_ONLY) == state_of(ONE, TWO)
    assert (reading.calls(), reading.reader.version) == (["head"], store.pointer.version)


def test_replacement_changes_every_part(store: Store, mixed: Writing) -> None:
    """No log item contains the changes of a replacement, so readers of every part must load the snapshot."""
    reading = Reading(store)
    reading.read(NODES_ONLY)
    Writing(store).replace(state_of(THREE, POD), POD)
    assert reading.read(NODES_ONLY) == state_of(THREE)
    assert mixed.writer.pointer != store.pointer


def test_unpublished_item_of_another_part_does_not_affect_a_version(store: Store, mixed: Writing) -> None:
    """A deposed leader left the item. No later leader overwrites the item, and no reader follows it."""
    reading, all_parts = Reading(store), Reading(store)
    reading.read(NODES_ONLY)
    all_parts.read()
    successor = Writing(store)
    with pytest.raises(StaleFence):
        mixed.flush(Change("pods", "ns/pod", None))
    successor.flush(THREE)
    assert [(item.part, item.version) for item in store.log_items(3)] == [
        (SnapshotPart.NODES, 4),
        (SnapshotPart.PODS, 4),
    ]
    successor.flush(Change("pods", "ns/other", None))
    wanted = state_of(ONE, TWO, THREE, POD, BUDGET)
    assert reading.read(NODES_ONLY) == state_of(ONE, TWO, THREE)
    assert (all_parts.read(), Reading(store).read()) == (wanted, wanted)


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(lambda item: None, id="missing"),
        pytest.param(lambda item: replace(item, epoch=item.epoch + 1), id="an orphan in place of the item"),
        pytest.param(lambda item: replace(item, previous=PublishedVersion(2, 0)), id="link to an item of another part"),
        pytest.param(lambda item: replace(item, data=GARBAGE), id="malformed"),
    ],
)
def test_unusable_log_item_of_one_part_makes_the_reader_load_a_snapshot(
    store: Store, mixed: Writing, torn: Callable[[LogItem], LogItem | None]
) -> None:
    """Until there is a new enough snapshot, the reader reports a failure rather than a wrong state."""
    reading, of_nodes = Reading(store), Reading(store)
    reading.read(NODES_AND_PODS)
    of_nodes.read(NODES_ONLY)
    mixed.flush(THREE, Change("pods", "ns/pod", None))
    [pods] = [item for item in store.log_items(3) if item.part is SnapshotPart.PODS]
    store.lose_log(pods.version)
    if (item := torn(pods)) is not None:
        store.overwrite_log(item)
    with pytest.raises(NothingPublished, match=INCOMPLETE):
        reading.read(NODES_AND_PODS)
    assert mixed.compact_now(state_of(ONE, BUDGET, TWO, THREE, OTHER_POD))
    reading.calls()
    assert reading.read(NODES_AND_PODS) == state_of(ONE, TWO, THREE, OTHER_POD)
    assert reading.calls() == ["head", "log", "chunks"]
    of_nodes.calls()
    assert of_nodes.read(NODES_ONLY) == state_of(ONE, TWO, THREE)
    assert of_nodes.calls() == ["head", "log"]


@pytest.mark.usefixtures("mixed")
def test_loads_a_part_needed_by_a_later_call_and_keeps_it(store: Store) -> None:
    reading = Reading(store)
    reading.read(NODES_ONLY)
    everything = state_of(ONE, BUDGET, POD, TWO, OTHER_POD)
    reading.calls()
    assert reading.read(ALL_PARTS) == everything
    assert reading.calls() == ["head", "chunks", "log"]
    assert reading.read(NODES_ONLY) == everything
    assert reading.calls() == ["head"]


def test_loading_another_part_does_not_return_to_an_older_head(store: Store, mixed: Writing) -> None:
    reading = Reading(store)
    old = store.head()
    mixed.flush(THREE)
    reading.read(NODES_ONLY)
    assert reading.reader.at(old, parts=NODES_AND_PODS) == state_of(ONE, TWO, THREE, POD, OTHER_POD)
    assert reading.reader.version == store.pointer.version


SECONDS = 10.0
"""Seconds. A call that does not read the table never takes this long."""


@pytest.mark.parametrize("remaining", [0.0, math.inf], ids=["without time left", "with time left"])
def test_call_without_a_read_does_not_wait_for_other_parts(store: Store, mixed: Writing, remaining: float) -> None:
    reading, found = Reading(store), SimpleQueue[State]()
    nodes = reading.reader.at(store.head(), parts=NODES_ONLY)
    versions: list[int] = []

    def call() -> None:
        found.put(reading.reader.at(store.head(), lambda: remaining, NODES_ONLY))

    def while_pods_are_loaded() -> None:
        mixed.flush(POD)
        Thread(target=call, daemon=True).start()
        assert found.get(timeout=SECONDS) is nodes
        versions.append(reading.reader.version)

    before = reading.reader.version
    reading.table.before["chunks"] = while_pods_are_loaded
    assert reading.read(ALL_PARTS) == state_of(ONE, BUDGET, POD, TWO, OTHER_POD)
    assert versions == [before]


def test_does_not_read_a_part_that_only_earlier_calls_needed(store: Store, mixed: Writing) -> None:
    """The reader's version stays, and the next call that needs the part reads the part's log from that version."""
    reading = Reading(store)
    before = reading.reader.at(store.head())
    version = reading.reader.version
    mixed.flush(Change("pods", "ns/pod", None))
    reading.calls()
    assert reading.reader.at(reading.table.head(), parts=NODES_ONLY) is before
    assert (reading.calls(), reading.reader.version) == (["head"], version)
    assert reading.read() == state_of(ONE, BUDGET, TWO, OTHER_POD)
    assert (reading.calls(), reading.reader.version) == (["head", "log"], store.pointer.version)


def test_call_with_an_older_head_does_not_read(store: Store, mixed: Writing) -> None:
    """Another thread was faster: the reader already has the state of this head, and later changes."""
    reading, old = Reading(store), store.head()
    mixed.flush(THREE)
    reading.read(NODES_ONLY)
    reading.calls()
    assert reading.reader.at(old, lambda: 0.0, NODES_ONLY) == state_of(ONE, TWO, THREE)
    assert (reading.calls(), reading.reader.version) == ([], store.pointer.version)


def test_unreadable_head_is_reported_even_if_the_parts_are_loaded(store: Store, mixed: Writing) -> None:
    """A newer release writes heartbeats at the version that this reader has."""
    reading = Reading(store)
    reading.read()
    head = store.point(oldest_reader=SCHEMA_VERSION + 1)
    with pytest.raises(NothingPublished, match=FUTURE_SCHEMA):
        reading.reader.at(head, parts=NODES_ONLY)
