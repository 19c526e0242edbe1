"""The head item in DynamoDB's terms: which items name no version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.dynamodb_head import MalformedHead, pointer_update, read_head
from berth.nodecache.feed.head import Head, Observation, Pointer, SnapshotPointer
from berth.scheduling.snapshot.parts import SnapshotPart

POSITIONS = {"nodes": Position("7", 100.0, 40.0), "pods": Position("9", 90.0, 40.0)}
POINTER = Pointer(0, 0, None, 0, 0, Observation("cluster", POSITIONS), 101.0, "1.0.0")
FUTURE = {"oldestReader": {"N": "99"}}


def item(**changed: Any) -> Any:
    """The attributes that a writer puts there, and some others instead."""
    return {"uid": {"S": "uid-1"}, **_attributes_of(POINTER), **changed}


def test_reads_what_was_written() -> None:
    assert read_head(item()) == Head("uid-1", POINTER)


def test_writes_the_observed_at_of_the_oldest_resource() -> None:
    assert pointer_update(POINTER).values[":observedAt"] == {"N": "90.000"}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"uid": {"S": ""}}, id="an empty uid"),
        pytest.param({"uid": {"S": ""}, **FUTURE}, id="an empty uid, written by a newer release"),
        pytest.param({"version": {"N": "-1"}, **FUTURE}, id="a negative version, written by a newer release"),
        pytest.param({"compactedVersion": {"N": "1"}}, id="compacted beyond the version"),
    ],
)
def test_rejects_pointer_without_version(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedHead):
        read_head(item(**changed))


DIVIDED = SnapshotPointer("s1", 0, 0, 3, 900, 100.0, {SnapshotPart.NODES: 1, SnapshotPart.PODS: 2})


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        pytest.param([1, 0, 2], DIVIDED.chunks_by_part, id="parts that this release knows"),
        pytest.param([1, 0, 1, 1], None, id="one part more, of a later release"),
        pytest.param(None, None, id="none, as an earlier release writes it"),
    ],
)
def test_reads_chunks_by_part(parts: list[int] | None, wanted: object) -> None:
    written = item(**_attributes_of(replace(POINTER, snapshot=DIVIDED)))
    del written["snapshot"]["M"]["parts"]
    if parts is not None:
        written["snapshot"]["M"]["parts"] = {"L": [{"N": str(count)} for count in parts]}
    found = read_head(written).pointer
    assert found is not None
    assert found.snapshot == replace(DIVIDED, chunks_by_part=wanted)  # type: ignore[arg-type]


def test_rejects_parts_that_are_not_the_chunks() -> None:
    with pytest.raises(MalformedHead, match="parts"):
        read_head(item(**_attributes_of(replace(POINTER, snapshot=replace(DIVIDED, chunks=4)))))


def _attributes_of(pointer: Pointer) -> dict[str, Any]:
    update = pointer_update(pointer)
    return {name: update.values[f":{name}"] for name in update.names.values()}


def test_reads_version_and_epoch_of_a_newer_release() -> None:
    pointer = read_head(item(version={"N": "0"}, **FUTURE)).pointer
    assert pointer is not None
    assert (pointer.version, pointer.is_readable) == (0, False)
