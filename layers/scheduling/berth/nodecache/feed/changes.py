"""The changes between two versions of the cache, packed into items. Each item belongs to one part of the state.

An object is a Kubernetes object with only the fields that scheduling reads (see cluster/field_projection). Its key is
`name`, or `namespace/name`.

A pod that is missing from the cache counts as deleted, and other pods would get its resources. So a pod that is too
large for an item is published without some fields. Its identity, node, state, requests and the annotations for counted
resources are always published.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import orjson

from berth.scheduling.fields.reading import part
from berth.scheduling.objects.projection import SHARED, decode_shared_fields, encode_shared_fields, trimmed_items
from berth.scheduling.snapshot.parts import SnapshotPart

LEFT_OUT = "leftOut"
"""The field of a reduced pod that lists its missing fields."""

LABELS = "metadata.labels"
_PLACEMENT = ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "volumes")
_CONTAINERS = ("containers", "initContainers")
_CONTAINER_FIELDS = ("name", "image", "ports")


def is_reduced(obj: Object) -> bool:
    return type(obj.get(LEFT_OUT)) is list


def reduced_pods(pod: Object) -> Iterator[Object]:
    """Yield reduced versions of a projected pod: without labels; without placement rules; without both; without both
    and without the names, images and ports of its containers. Yield nothing for other objects."""
    metadata, shared = pod.get("metadata"), _shared(pod)
    if not isinstance(metadata, Mapping) or shared is None:
        return
    unlabelled = {"metadata": {name: value for name, value in metadata.items() if name != "labels"}}
    spec = part(shared, "spec")
    unplaced = {**shared, "spec": {name: value for name, value in spec.items() if name not in _PLACEMENT}}
    placement = [f"spec.{name}" for name in _PLACEMENT if name in spec]
    bare, details = _without_container_fields(unplaced)
    yield {**pod, **unlabelled, LEFT_OUT: [LABELS]}
    yield {**pod, SHARED: encode_shared_fields(unplaced), LEFT_OUT: placement}
    yield {**pod, **unlabelled, SHARED: encode_shared_fields(unplaced), LEFT_OUT: [LABELS, *placement]}
    yield {**pod, **unlabelled, SHARED: encode_shared_fields(bare), LEFT_OUT: [LABELS, *placement, *details]}


def _shared(pod: Object) -> dict[str, object] | None:
    source = pod.get(SHARED)
    if not isinstance(source, str):
        return None
    try:
        found = decode_shared_fields(source)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("spec"), dict) else None


def _without_details(container: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in container.items() if name not in _CONTAINER_FIELDS}


def _without_container_fields(shared: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    kept = dict(part(shared, "spec"))
    for field in _CONTAINERS:
        if field in kept:
            kept[field] = trimmed_items(kept[field], _without_details)
    return {**shared, "spec": kept}, [f"spec.{field}[].{name}" for field in _CONTAINERS for name in _CONTAINER_FIELDS]


MAX_ITEM_BYTES = 350_000
"""The limit for packed changes. A DynamoDB item holds 400 KB, including its keys and other attributes."""

MAX_RAW_BYTES = 4_000_000
"""The largest decompressed size of an item. An API server accepts requests of 1.5 MiB."""

_RAW_BYTES = 1_000_000
_LONGEST_KEY = 10_000  # an API server accepts names and namespaces of up to 253 characters
_FASTEST = 1

Object = Mapping[str, object]
Key = tuple[str, str]
"""The name of the resource, and the key of the object."""


class Change(NamedTuple):
    """A change of one object. `object`: None if it was deleted. `resource`: the API's plural, such as `nodes`."""

    resource: str
    key: str
    object: Object | None


_PARTS = {"nodes": SnapshotPart.NODES, "pods": SnapshotPart.PODS}


def part_of(resource: str) -> SnapshotPart:
    return _PARTS.get(resource, SnapshotPart.OTHERS)


class CorruptItem(Exception):
    """An item does not have the format of this schema version."""


class OmissionReason(StrEnum):
    """The reason why an object cannot be stored completely. REDUCED: a pod is published without some of its fields."""

    TOO_LARGE = "too large for an item"
    REDUCED = "too large for an item, published without some of its fields"
    NOT_JSON = "not to be written as JSON"


@dataclass(frozen=True, slots=True)
class PackedChanges:
    """The packed items of each part, and the objects that cannot be stored completely: a pod is published without some
    fields if it then fits; other objects are published as deleted, because readers must not use their older state."""

    by_part: Mapping[SnapshotPart, Sequence[bytes]]
    omissions: Mapping[Key, OmissionReason]

    @property
    def items(self) -> list[bytes]:
        return [item for items in self.by_part.values() for item in items]


class _Row(NamedTuple):
    change: Change
    data: bytes


def pack(changes: Iterable[Change]) -> PackedChanges:
    """Pack changes into few items of at most MAX_ITEM_BYTES each. Changes of one object keep their order."""
    omissions: dict[Key, OmissionReason] = {}
    by_part: dict[SnapshotPart, list[bytes]] = {snapshot_part: [] for snapshot_part in SnapshotPart}
    rows: dict[SnapshotPart, list[_Row]] = {snapshot_part: [] for snapshot_part in SnapshotPart}
    sizes = dict.fromkeys(SnapshotPart, 0)
    for change in changes:
        row, snapshot_part = _row(change, omissions), part_of(change.resource)
        if row is None:
            continue
        if rows[snapshot_part] and sizes[snapshot_part] + len(row.data) > _RAW_BYTES:
            by_part[snapshot_part] += _compressed(rows[snapshot_part], omissions)
            rows[snapshot_part], sizes[snapshot_part] = [], 0
        rows[snapshot_part].append(row)
        sizes[snapshot_part] += len(row.data) + 1
    for snapshot_part, left in rows.items():
        by_part[snapshot_part] += _compressed(left, omissions) if left else []
    return PackedChanges({snapshot_part: items for snapshot_part, items in by_part.items() if items}, omissions)


def _row(change: Change, omissions: dict[Key, OmissionReason]) -> _Row | None:
    """Return the row to pack; None if even the key cannot be stored, so that no reader has the object."""
    data = _dumped(change)
    if data is None:
        return _gone(change, OmissionReason.NOT_JSON, omissions)
    if len(data) + len(b"[]") > MAX_RAW_BYTES:
        return _reduced(change, omissions)
    if change.object is not None and is_reduced(change.object):
        # An earlier leader has reduced the pod.
        omissions[change.resource, change.key] = OmissionReason.REDUCED
    return _Row(change, data)


def _reduced(change: Change, omissions: dict[Key, OmissionReason]) -> _Row | None:
    pods = reduced_pods(change.object) if change.resource == "pods" and change.object is not None else ()
    for pod in pods:
        reduced = change._replace(object=pod)
        data = orjson.dumps(tuple(reduced))
        if len(data) + len(b"[]") <= MAX_RAW_BYTES and len(_item((data,))) <= MAX_ITEM_BYTES:
            omissions[change.resource, change.key] = OmissionReason.REDUCED
            return _Row(reduced, data)
    return _gone(change, OmissionReason.TOO_LARGE, omissions)


def _gone(change: Change, cause: OmissionReason, omissions: dict[Key, OmissionReason]) -> _Row | None:
    omissions[change.resource, change.key] = cause
    change = change._replace(object=None)
    data = _dumped(change)
    return None if data is None or len(data) > _LONGEST_KEY else _Row(change, data)


def _dumped(change: Change) -> bytes | None:
    """Return the JSON; None if the object has a lone surrogate or an integer above 64 bits, or is nested too deeply."""
    try:
        return orjson.dumps(tuple(change))
    except orjson.JSONEncodeError:
        return None


def _compressed(rows: list[_Row], omissions: dict[Key, OmissionReason]) -> list[bytes]:
    item = _item(row.data for row in rows)
    if len(item) <= MAX_ITEM_BYTES:
        return [item]
    if len(rows) > 1:
        middle = len(rows) // 2
        return _compressed(rows[:middle], omissions) + _compressed(rows[middle:], omissions)
    row = _reduced(rows[0].change, omissions)
    return [] if row is None else _compressed([row], omissions)


def _item(rows: Iterable[bytes]) -> bytes:
    return zlib.compress(b"[" + b",".join(rows) + b"]", _FASTEST)


def unpack(items: Iterable[bytes]) -> Iterator[Change]:
    """Yield the packed changes in order. Raises CorruptItem."""
    for item in items:
        try:
            rows = orjson.loads(_decompressed(item))
        except (zlib.error, orjson.JSONDecodeError) as error:
            raise CorruptItem("an item of the node cache cannot be read") from error
        if type(rows) is not list or not all(map(_is_a_change, rows)):
            raise CorruptItem("an item of the node cache does not hold changes")
        yield from [Change(*row) for row in rows]


def _decompressed(item: bytes) -> bytes:
    """Decompress at most MAX_RAW_BYTES: a few KB of zeros can decompress to gigabytes."""
    stream = zlib.decompressobj()
    raw = stream.decompress(item, MAX_RAW_BYTES + 1)
    if not stream.eof or stream.unused_data:
        raise zlib.error("cut off, too long, or followed by something else")
    return raw


def _is_a_change(row: object) -> bool:
    return (
        type(row) is list
        and len(row) == 3
        and type(row[0]) is str
        and type(row[1]) is str
        and (row[2] is None or type(row[2]) is dict)
    )
