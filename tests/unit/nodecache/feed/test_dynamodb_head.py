"""The head item in DynamoDB: its attributes, its size, and items that are rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from berth.cluster.watch.resources import BASE_RESOURCES, GANG_RESOURCES, SPREAD_RESOURCES
from berth.configuration.store import hash_of
from berth.lease.dynamodb_lock import lease_update
from berth.lease.lock import Lease, LeaseSpec
from berth.ledger.lease import counted_elsewhere
from berth.nodecache.feed.dynamodb_head import MAX_CHUNKS, MalformedHead, pointer_update, read_head
from berth.nodecache.feed.head import (
    BEGINNING,
    Observation,
    Pointer,
    Position,
    PublishedVersion,
    SnapshotPointer,
    in_every_part,
)
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.fakes.dynamodb_units import item_size

POSITIONS = {"nodes": Position("7", 100.0, 40.0), "pods": Position("9", 90.0, 40.0)}
POINTER = Pointer(0, 0, in_every_part(BEGINNING), None, 0, 0, Observation("cluster", POSITIONS), 101.0, "1.0.0")
FUTURE = {"oldestReader": {"N": "99"}}


def item(**changed: Any) -> Any:
    """Return the attributes that a writer writes, with some of them replaced."""
    return {"uid": {"S": "uid-1"}, **_attributes_of(POINTER), **changed}


def test_writes_observed_at_of_the_oldest_resource() -> None:
    assert pointer_update(POINTER).values[":observedAt"] == {"N": "90.000"}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"uid": {"S": ""}}, id="an empty uid"),
        pytest.param({"uid": {"S": ""}, **FUTURE}, id="an empty uid from a newer release"),
        pytest.param({"version": {"N": "-1"}, **FUTURE}, id="a negative version from a newer release"),
        pytest.param({"compactedVersion": {"N": "1"}}, id="compacted beyond the version"),
        pytest.param({"newest": {"L": [{"N": "0"}] * 5}}, id="a part without an epoch"),
        pytest.param({"newest": {"L": []}}, id="no parts"),
        pytest.param({"positions": {"M": {"nodes": {"L": [{"S": "7"}]}}}}, id="a position without its times"),
    ],
)
def test_rejects_head_with_malformed_attributes(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedHead):
        read_head(item(**changed))


NEWEST = {
    SnapshotPart.NODES: PublishedVersion(2, 1),
    SnapshotPart.OTHERS: BEGINNING,
    SnapshotPart.PODS: PublishedVersion(3, 1),
}
SNAPSHOT = SnapshotPointer("s1", 3, NEWEST, {SnapshotPart.NODES: 1, SnapshotPart.PODS: 2}, 900, 100.0)
PUBLISHED = replace(
    POINTER, version=4, last_epoch=2, newest={**NEWEST, SnapshotPart.PODS: PublishedVersion(4, 2)}, snapshot=SNAPSHOT
)


@pytest.mark.parametrize("of", ["the pointer", "the snapshot"])
@pytest.mark.parametrize(
    "newest",
    [
        pytest.param([9, 2, 0, 0, 4, 2], id="a part version above the version"),
        pytest.param([2, 1, 0, 0, 3, 1], id="no part with the version"),
        pytest.param([-5, 1, 0, 0, 4, 2], id="a negative version"),
        pytest.param([2, 1, 0, -1, 4, 2], id="a negative epoch"),
        pytest.param([2, 1, 0, 0, 4, 2, 9, 2], id="a part of a later release above the version"),
    ],
)
def test_rejects_part_versions_that_contradict_the_version(of: str, newest: list[int]) -> None:
    """Otherwise a reader would miss changes, or look for items that were never written."""
    compacted = replace(PUBLISHED, snapshot=replace(SNAPSHOT, version=4, newest=PUBLISHED.newest))
    written = item(**_attributes_of(compacted))
    has_parts = written if of == "the pointer" else written["snapshot"]["M"]
    has_parts["newest"] = {"L": [{"N": str(number)} for number in newest]}
    with pytest.raises(MalformedHead, match="a part has no version"):
        read_head(written)


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([1, 0], id="a part is missing"),
        pytest.param([1, -1, 2], id="a negative number"),
        pytest.param([1, 0, MAX_CHUNKS], id="implausibly many"),
    ],
)
def test_rejects_impossible_chunk_numbers(counts: list[int]) -> None:
    written = item(**_attributes_of(PUBLISHED))
    written["snapshot"]["M"]["chunks"] = {"L": [{"N": str(count)} for count in counts]}
    with pytest.raises(MalformedHead, match="chunks"):
        read_head(written)


def _attributes_of(pointer: Pointer) -> dict[str, Any]:
    update = pointer_update(pointer)
    return {name: update.values[f":{name}"] for name in update.names.values()}


def test_largest_head_stays_below_two_kilobytes() -> None:
    """Every number is longer than in any cluster, and every attribute is present. Only the plugin version does not have
    a maximum length; this version is longer than usual."""
    epoch, at, uid = 10**9, 1_800_000_000.123, "0d2f6a52-5d2f-4a4e-9d5e-000000000000"
    holder = f"watcher_{uid}"
    newest = in_every_part(PublishedVersion(10**12, epoch))
    chunks = dict.fromkeys(SnapshotPart, MAX_CHUNKS // len(SnapshotPart))
    watched = (*BASE_RESOURCES, *SPREAD_RESOURCES, *GANG_RESOURCES)
    positions = {resource.key: Position(str(2**63), at, at) for resource in watched}
    pointer = Pointer(
        version=10**12,
        last_epoch=epoch,
        newest=newest,
        snapshot=SnapshotPointer(uid.replace("-", ""), 10**12, newest, chunks, size=10**10, written_at=at),
        compacted_version=10**12,
        log_bytes=10**10,
        observation=Observation(f"{uid}/{'f' * 16}", positions),
        heartbeat=at,
        writer_version="10.10.10",
    )
    lease = Lease(LeaseSpec(holder, 15, at, at, epoch, handover_at=at), 10**12, uid, uid.replace("-", ""))
    rest = {
        "pk": "head",
        "configurationHash": hash_of("{}"),
        "pluginVersion": f"10.10.10-rc.10+{'f' * 40}",
        "countingRefusal": counted_elsewhere(holder),
    }
    attributes: dict[str, Any] = {
        **{name.lstrip(":"): value for name, value in lease_update(lease).values.items()},
        **{name.lstrip(":"): value for name, value in pointer_update(pointer).values.items()},
        **{name: {"S": text} for name, text in rest.items()},
        "sk": {"N": "0"},
    }
    assert item_size(attributes) < 2048
