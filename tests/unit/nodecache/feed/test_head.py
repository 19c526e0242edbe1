"""Values of the head: the time of the oldest data, the chunks of parts, and whether the schema is readable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.nodecache.feed.head import (
    FUTURE_SCHEMA,
    SCHEMA_VERSION,
    Head,
    Observation,
    Pointer,
    Position,
    PublishedVersion,
    SnapshotPointer,
    in_every_part,
)
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts, SnapshotPart


@pytest.mark.parametrize(
    ("observed_at", "wanted"),
    [
        pytest.param({}, 0.0, id="nothing was observed"),
        pytest.param({"nodes": 10.0, "pods": 70.0}, 10.0, id="the first resource is the oldest"),
        pytest.param({"nodes": 70.0, "pods": 10.0, "namespaces": 40.0}, 10.0, id="another resource is the oldest"),
    ],
)
def test_observed_at_is_the_time_of_the_oldest_resource(observed_at: dict[str, float], wanted: float) -> None:
    positions = {resource: Position("1", at, 0.0) for resource, at in observed_at.items()}
    assert Observation("cluster", positions).observed_at == wanted


DIVIDED = {SnapshotPart.NODES: 2, SnapshotPart.OTHERS: 1, SnapshotPart.PODS: 3}


@pytest.mark.parametrize(
    ("counts", "parts", "wanted"),
    [
        pytest.param(DIVIDED, NODES_ONLY, [0, 1], id="one part"),
        pytest.param(DIVIDED, NODES_AND_PODS, [0, 1, 3, 4, 5], id="two parts that are not neighbors"),
        pytest.param(DIVIDED, ALL_PARTS, [0, 1, 2, 3, 4, 5], id="all parts"),
        pytest.param({SnapshotPart.PODS: 6}, NODES_ONLY, [], id="a part without objects"),
    ],
)
def test_indexes_are_chunks_of_wanted_parts(counts: dict[SnapshotPart, int], parts: Parts, wanted: list[int]) -> None:
    snapshot = SnapshotPointer("s1", 1, in_every_part(PublishedVersion(1, 1)), counts, size=600, written_at=0.0)
    assert list(snapshot.indexes(parts)) == wanted


@pytest.mark.parametrize(
    ("schema", "oldest_reader", "wanted"),
    [
        pytest.param(SCHEMA_VERSION, SCHEMA_VERSION, "", id="its own schema"),
        pytest.param(SCHEMA_VERSION + 1, SCHEMA_VERSION, "", id="a newer readable schema"),
        pytest.param(SCHEMA_VERSION + 1, SCHEMA_VERSION + 1, FUTURE_SCHEMA, id="a newer unreadable schema"),
    ],
)
def test_unreadable_schema_has_a_reason(schema: int, oldest_reader: int, wanted: str) -> None:
    pointer = Pointer(1, 1, in_every_part(PublishedVersion(1, 1)), None, 0, 0, Observation("", {}), 0.0, "")
    pointer = replace(pointer, schema_version=schema, oldest_reader=oldest_reader)
    assert (pointer.unreadable_reason, Head("uid", pointer).unreadable_reason) == (wanted, wanted)
    assert not Head("uid", None).unreadable_reason
