"""The head item in DynamoDB's terms: which items name no version."""

from __future__ import annotations

from typing import Any

import pytest

from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.dynamodb_head import MalformedHead, pointer_update, read_head
from berth.nodecache.feed.head import Head, Observation, Pointer

POSITIONS = {"nodes": Position("7", 100.0, 40.0), "pods": Position("9", 90.0, 40.0)}
POINTER = Pointer(0, 0, None, 0, 0, Observation("cluster", POSITIONS), 101.0, "1.0.0")
FUTURE = {"oldestReader": {"N": "99"}}


def item(**changed: Any) -> Any:
    """The attributes that a writer puts there, and some others instead."""
    update = pointer_update(POINTER)
    written = {name: update.values[f":{name}"] for name in update.names.values()}
    return {"uid": {"S": "uid-1"}, **written, **changed}


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


def test_reads_version_and_epoch_of_a_newer_release() -> None:
    pointer = read_head(item(version={"N": "0"}, **FUTURE)).pointer
    assert pointer is not None
    assert (pointer.version, pointer.is_readable) == (0, False)
