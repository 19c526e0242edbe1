"""What happened to the cluster between two versions of the cache, packed into log items.

An object is the Kubernetes object reduced to what scheduling reads (see cluster/kept_fields). Its key is `name`, or
`namespace/name`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson

MAX_ITEM_BYTES = 350_000
"""A DynamoDB item holds 400 KB; what is left is room for its keys."""

_RAW_BYTES = 1_000_000
_FASTEST = 1

Object = Mapping[str, object]
Key = tuple[str, str]
"""Resource and key."""


class Change(NamedTuple):
    """An object as it now is, or (with None) gone. `resource` is the API's plural, such as `nodes`."""

    resource: str
    key: str
    object: Object | None


class CorruptItem(Exception):
    """An item does not hold what a writer of this schema version puts there."""


@dataclass(frozen=True, slots=True)
class Packed:
    """`items` are to be stored in this order. `oversized`: objects that fit into no item and are published as gone,
    because readers must not go on with an older state of them."""

    items: Sequence[bytes]
    oversized: Sequence[str]


def pack(changes: Iterable[Change]) -> Packed:
    """Changes in as few items as they fit into, none above MAX_ITEM_BYTES; no item where there is no change."""
    items: list[bytes] = []
    oversized: list[str] = []
    rows: list[bytes] = []
    size = 0
    for change in changes:
        row = orjson.dumps(tuple(change))
        if rows and size + len(row) > _RAW_BYTES:
            items += _compressed(rows, oversized)
            rows, size = [], 0
        rows.append(row)
        size += len(row)
    if rows:
        items += _compressed(rows, oversized)
    return Packed(items, oversized)


def _compressed(rows: list[bytes], oversized: list[str]) -> list[bytes]:
    item = zlib.compress(b"[" + b",".join(rows) + b"]", _FASTEST)
    if len(item) <= MAX_ITEM_BYTES:
        return [item]
    if len(rows) > 1:
        middle = len(rows) // 2
        return _compressed(rows[:middle], oversized) + _compressed(rows[middle:], oversized)
    resource, key, _ = orjson.loads(rows[0])
    oversized.append(f"{resource} {key}")
    return _compressed([orjson.dumps((resource, key, None))], oversized)


def unpack(items: Iterable[bytes]) -> Iterable[Change]:
    """The changes that were packed, in their order. Raises CorruptItem."""
    for item in items:
        try:
            rows = orjson.loads(zlib.decompress(item))
            yield from (Change(resource, key, kept) for resource, key, kept in rows)
        except (zlib.error, orjson.JSONDecodeError, TypeError, ValueError) as error:
            raise CorruptItem("an item of the node cache cannot be read") from error
