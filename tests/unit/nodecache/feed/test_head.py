"""The values of the head: how old the data is."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.head import Observation, SnapshotPointer
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts, SnapshotPart


@pytest.mark.parametrize(
    ("observed_at", "wanted"),
    [
        pytest.param({}, 0.0, id="nothing was observed"),
        pytest.param({"nodes": 10.0, "pods": 70.0}, 10.0, id="the first resource is the oldest"),
        pytest.param({"nodes": 70.0, "pods": 10.0, "namespaces": 40.0}, 10.0, id="another resource is the oldest"),
    ],
)
def test_observed_at_is_that_of_the_oldest_resource(observed_at: dict[str, float], wanted: float) -> None:
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
        pytest.param(None, NODES_ONLY, [0, 1, 2, 3, 4, 5], id="a snapshot that is not divided"),
    ],
)
def test_chunks_of_parts(counts: dict[SnapshotPart, int] | None, parts: Parts, wanted: list[int]) -> None:
    snapshot = SnapshotPointer("s1", 1, 1, chunks=6, size=600, written_at=0.0, chunks_by_part=counts)
    assert list(snapshot.indexes(parts)) == wanted
