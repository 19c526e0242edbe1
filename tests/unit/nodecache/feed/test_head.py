"""The values of the head: how old the data is."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.head import Observation


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
