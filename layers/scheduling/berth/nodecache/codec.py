"""Nodes to chunks and back. A chunk is zlib over JSON over what scheduling needs of each node, and nothing else."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import orjson

from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot import Snapshot

MAX_CHUNK_BYTES = 350_000
"""A DynamoDB item holds 400 KB; what is left is room for its keys."""

_RAW_CHUNK_BYTES = 1_000_000
_FASTEST = 1


class CorruptChunk(Exception):
    """A chunk does not hold what a writer of this schema version puts there."""


def pack(nodes: Iterable[NodeInfo]) -> list[bytes]:
    """Chunks of at most MAX_CHUNK_BYTES; at least one, even without nodes."""
    chunks: list[bytes] = []
    rows: list[bytes] = []
    size = 0
    for node in nodes:
        row = orjson.dumps((node.name, dict(node.labels), node.defect))
        if rows and size + len(row) > _RAW_CHUNK_BYTES:
            chunks += _compressed(rows)
            rows, size = [], 0
        rows.append(row)
        size += len(row)
    return chunks + _compressed(rows)


def _compressed(rows: list[bytes]) -> list[bytes]:
    chunk = zlib.compress(b"[" + b",".join(rows) + b"]", _FASTEST)
    if len(chunk) <= MAX_CHUNK_BYTES or len(rows) == 1:
        return [chunk]
    middle = len(rows) // 2
    return _compressed(rows[:middle]) + _compressed(rows[middle:])


def unpack(chunks: Sequence[bytes]) -> Snapshot:
    """The snapshot that was packed. Raises CorruptChunk."""
    return Snapshot.of(node for chunk in chunks for node in _rows(chunk))


def _rows(chunk: bytes) -> list[NodeInfo]:
    try:
        return [_node(*row) for row in orjson.loads(zlib.decompress(chunk))]
    except (zlib.error, orjson.JSONDecodeError, TypeError, ValueError) as error:
        raise CorruptChunk("a chunk of the node cache cannot be read") from error


def _node(name: object, labels: object, defect: object) -> NodeInfo:
    if not isinstance(name, str) or not isinstance(labels, dict) or not isinstance(defect, str | None):
        raise TypeError("not a row of a node")
    return NodeInfo(name, labels, defect)
