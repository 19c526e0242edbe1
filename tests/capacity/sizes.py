"""Sizes of the cache's items, measured on the projected objects of a typical cloud cluster."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS
from berth.nodecache.feed.changes import Change, Object, pack
from berth.nodecache.feed.observed_state import key_of
from tests.bench import large_cluster

MEASURED_NODES = 500
PODS_PER_NODE = 30
SAMPLES = 20

HEAD_BYTES = 866
HEAD_BYTES_SPREADING = 1_047
"""The head item with five resources watched, and with nine: test_model compares them with written items."""

LOG_ITEM_KEYS = 160
"""Bytes of a log item besides its data: keys, epochs, nonce, expiry."""


@cache
def snapshot_bytes_per_node() -> float:
    """Bytes of a node and its 30 pods, packed as in a snapshot."""
    items = pack(_all_objects()).items
    return sum(map(len, items)) / MEASURED_NODES


@cache
def packed_pod_changes(count: int) -> float:
    """Bytes of a log item's data with this number of changed pods; proportional above 500."""
    if count > MAX_MEASURED:
        return packed_pod_changes(MAX_MEASURED) * count / MAX_MEASURED
    draw, pods = random.Random(count), pod_changes()
    sizes = [sum(map(len, pack(draw.sample(pods, count)).items)) for _ in range(SAMPLES)]
    return sum(sizes) / SAMPLES


MAX_MEASURED = 500


@cache
def pod_changes() -> tuple[Change, ...]:
    trim = projections(RequiredFields())[PODS]
    kept = (trim(pod) for pod in large_cluster.pods(MEASURED_NODES, PODS_PER_NODE))
    return tuple(_change("pods", pod) for pod in kept)


def node_changes(count: int) -> Iterator[Change]:
    """So many nodes as they are published."""
    for node in map(projections(RequiredFields())[NODES], large_cluster.nodes(count)):
        yield _change("nodes", node)


def _all_objects() -> Iterator[Change]:
    yield from node_changes(MEASURED_NODES)
    yield from pod_changes()


def _change(resource: str, kept: Object) -> Change:
    key = key_of(kept)
    assert key is not None
    return Change(resource, key, kept)
