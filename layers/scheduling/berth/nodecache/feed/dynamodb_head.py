"""The pointer in the head item, as DynamoDB attributes. lease/dynamodb_lock has the attributes of the lease.

Attribute names would make the head larger than a kilobyte, and each publication would cost another write unit. So the
values are in lists; lists of parts have the order of SnapshotPart. A later release may append elements to each list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from berth.dynamodb import Assignments
from berth.nodecache.feed.head import (
    Head,
    Observation,
    PartVersions,
    Pointer,
    Position,
    PublishedVersion,
    SnapshotPointer,
    in_every_part,
)
from berth.scheduling.snapshot.parts import SnapshotPart

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef


MAX_CHUNKS = 10_000
"""The maximum number of chunks of a snapshot: 3.5 GB, more than any cluster needs. A pointer with more is malformed."""


_PARTS = tuple(SnapshotPart)


class MalformedHead(ValueError):
    """An attribute has a value that no writer stores."""


def pointer_update(pointer: Pointer) -> Assignments:
    snapshot, observation = pointer.snapshot, pointer.observation
    attributes: dict[str, UniversalAttributeValueTypeDef] = {
        "schemaVersion": _number(pointer.schema_version),
        "oldestReader": _number(pointer.oldest_reader),
        "writerVersion": {"S": pointer.writer_version},
        "version": _number(pointer.version),
        "lastEpoch": _number(pointer.last_epoch),
        "newest": _part_versions(pointer.newest),
        "compactedVersion": _number(pointer.compacted_version),
        "logBytes": _number(pointer.log_bytes),
        "heartbeat": _time(pointer.heartbeat),
        # For operators and alarms; readers compute it from the positions.
        "observedAt": _time(observation.observed_at),
        "clusterUid": {"S": observation.cluster_uid},
        "positions": {"M": {name: _position(position) for name, position in observation.positions.items()}},
        "snapshot": {"NULL": True} if snapshot is None else {"M": _snapshot(snapshot)},
    }
    return Assignments.of(attributes)


def _snapshot(snapshot: SnapshotPointer) -> dict[str, UniversalAttributeValueTypeDef]:
    return {
        "id": {"S": snapshot.id},
        "version": _number(snapshot.version),
        "newest": _part_versions(snapshot.newest),
        "chunks": {"L": [_number(snapshot.chunks_by_part.get(part, 0)) for part in _PARTS]},
        "size": _number(snapshot.size),
        "writtenAt": _time(snapshot.written_at),
    }


def _part_versions(versions: PartVersions) -> UniversalAttributeValueTypeDef:
    return {"L": [_number(number) for part in _PARTS for number in versions[part]]}


def _position(position: Position) -> UniversalAttributeValueTypeDef:
    return {"L": [{"S": position.resource_version}, _time(position.observed_at), _time(position.listed_at)]}


def read_head(item: Mapping[str, AttributeValueTypeDef]) -> Head:
    """Read the head item. The pointer of a newer release may be unreadable. Raises MalformedHead."""
    try:
        return Head(
            uid=item["uid"]["S"] if "uid" in item else "",
            pointer=_read_pointer(item) if "version" in item else None,
            configuration_hash=item["configurationHash"]["S"] if "configurationHash" in item else "",
            counting_refusal=item["countingRefusal"]["S"] if "countingRefusal" in item else "",
            plugin_version=item["pluginVersion"]["S"] if "pluginVersion" in item else "",
        )
    except (KeyError, IndexError, ValueError, OverflowError) as error:
        raise MalformedHead(str(error)) from error


def _read_pointer(item: Mapping[str, AttributeValueTypeDef]) -> Pointer:
    outline = _outline(item)
    if not item["uid"]["S"] or outline.version < 0:
        raise ValueError("the pointer names no version of an item")
    if outline.unreadable_reason:
        return outline
    pointer = _pointer(item, outline)
    reached = pointer.snapshot.version if pointer.snapshot else 0
    if not 0 <= pointer.compacted_version <= reached <= pointer.version:
        raise ValueError("inconsistent head: expected 0 <= compacted <= snapshot <= version")
    return pointer


def _outline(item: Mapping[str, AttributeValueTypeDef]) -> Pointer:
    """Return the attributes that all releases share: a watcher that cannot read the rest continues from these."""
    version, epoch, schema = int(item["version"]["N"]), int(item["lastEpoch"]["N"]), item["schemaVersion"]
    return Pointer(
        version=version,
        last_epoch=epoch,
        newest=in_every_part(PublishedVersion(version, epoch)),
        snapshot=None,
        compacted_version=version,
        log_bytes=0,
        observation=Observation("", {}),
        heartbeat=0.0,
        writer_version=item.get("writerVersion", {}).get("S", ""),
        schema_version=int(schema["N"]),
        # Without this attribute, only readers of the item's own schema can read it.
        oldest_reader=int(item.get("oldestReader", schema)["N"]),
    )


def _pointer(item: Mapping[str, AttributeValueTypeDef], outline: Pointer) -> Pointer:
    found = item["snapshot"]
    return replace(
        outline,
        newest=_read_part_versions(item["newest"], outline.version),
        snapshot=None if found.get("NULL") else _read_snapshot(found["M"]),
        compacted_version=int(item["compactedVersion"]["N"]),
        log_bytes=int(item["logBytes"]["N"]),
        observation=Observation(
            cluster_uid=item["clusterUid"]["S"],
            positions={
                name: Position(version["S"], float(observed_at["N"]), float(listed_at["N"]))
                for name, value in item["positions"]["M"].items()
                for version, observed_at, listed_at, *_ in (value["L"],)
            },
        ),
        heartbeat=float(item["heartbeat"]["N"]),
    )


def _read_snapshot(item: Mapping[str, AttributeValueTypeDef]) -> SnapshotPointer:
    version = int(item["version"]["N"])
    return SnapshotPointer(
        id=item["id"]["S"],
        version=version,
        newest=_read_part_versions(item["newest"], version),
        chunks_by_part=_read_chunks_by_part(item["chunks"]),
        size=int(item["size"]["N"]),
        written_at=float(item["writtenAt"]["N"]),
    )


def _read_part_versions(value: AttributeValueTypeDef, version: int) -> PartVersions:
    """Read the parts' versions. The highest is the state's version, even if its part was added by a later release."""
    numbers = [int(number["N"]) for number in value["L"]]
    if len(numbers) < 2 * len(_PARTS) or min(numbers) < 0 or max(numbers[::2]) != version:
        raise ValueError("a part has no version, or not one that leads to that of the whole state")
    return dict(zip(_PARTS, map(PublishedVersion, numbers[::2], numbers[1::2]), strict=False))


def _read_chunks_by_part(value: AttributeValueTypeDef) -> Mapping[SnapshotPart, int]:
    counts = [int(number["N"]) for number in value["L"]]
    if len(counts) < len(_PARTS) or min(counts) < 0 or sum(counts) > MAX_CHUNKS:
        raise ValueError("the snapshot has no such numbers of chunks")
    return {part: count for part, count in zip(_PARTS, counts, strict=False) if count}


def _number(value: int) -> UniversalAttributeValueTypeDef:
    return {"N": str(value)}


def _time(seconds: float) -> UniversalAttributeValueTypeDef:
    return {"N": str(Decimal(seconds).quantize(Decimal("0.001")))}
