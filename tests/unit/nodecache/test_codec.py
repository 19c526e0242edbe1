"""Nodes to chunks and back."""

from __future__ import annotations

import random
import zlib

import pytest

from berth.nodecache.codec import MAX_CHUNK_BYTES, CorruptChunk, pack, unpack
from berth.scheduling.objects import NodeInfo
from tests.builders.nodes import labelled, node

# Text that does not compress, so that the size of a chunk is the size of its rows.
_RANDOM = random.Random(7)


def noise(characters: int) -> str:
    return "".join(_RANDOM.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=characters))


@pytest.mark.parametrize(
    ("nodes", "chunks"),
    [
        pytest.param([], 1, id="no node is one chunk"),
        pytest.param([node("a")], 1, id="one node"),
        pytest.param([labelled("a", "1"), node("ü", {"k": "v\n\"'"}), node("d", defect="why")], 1, id="any text"),
        pytest.param(
            [node(f"n{index}", {"l": noise(1_000)}) for index in range(1_500)], 3, id="more than a chunk holds"
        ),
        pytest.param([node(f"n{index}", {"l": "x" * 1_000}) for index in range(2_500)], 3, id="much that compresses"),
    ],
)
def test_what_was_packed_is_unpacked(nodes: list[NodeInfo], chunks: int) -> None:
    packed = pack(nodes)
    assert len(packed) >= chunks
    assert all(len(chunk) <= MAX_CHUNK_BYTES for chunk in packed)
    snapshot = unpack(packed)
    assert list(snapshot.nodes.values()) == nodes


def test_five_thousand_nodes_of_a_cloud_are_a_few_chunks() -> None:
    labels = {f"label.example.com/{index}": f"value-{index}" for index in range(20)}
    packed = pack(node(f"ip-10-0-{index}.compute.internal", labels | {"i": str(index)}) for index in range(5_000))
    assert len(packed) <= 8
    assert len(unpack(packed).nodes) == 5_000


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not zlib", id="not compressed"),
        pytest.param(zlib.compress(b'[["a",{},null]]')[:-4], id="cut off"),
        pytest.param(zlib.compress(b"not JSON"), id="not JSON"),
        pytest.param(zlib.compress(b"7"), id="no list"),
        pytest.param(zlib.compress(b"[7]"), id="rows that are no lists"),
        pytest.param(zlib.compress(b'[["a",{}]]'), id="rows too short"),
        pytest.param(zlib.compress(b'[["a",{},null,1]]'), id="rows too long"),
        pytest.param(zlib.compress(b'[[["a"],{},null]]'), id="a name that is no string"),
        pytest.param(zlib.compress(b'[["a",null,null]]'), id="labels that are none"),
    ],
)
def test_a_chunk_that_holds_something_else_is_corrupt(chunk: bytes) -> None:
    with pytest.raises(CorruptChunk):
        unpack([*pack([node("a")]), chunk])
