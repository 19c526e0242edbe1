"""The reader loads the parts of the state that its calls need."""

from __future__ import annotations

import zlib
from dataclasses import replace

import orjson
import pytest

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.reader import (
    INCOMPLETE,
    NothingPublished,
)
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts
from tests.unit.nodecache.feed.feeds import Store, Writing, state_of
from tests.unit.nodecache.feed.reading import GARBAGE, ONE, THREE, TWO, Reading

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
