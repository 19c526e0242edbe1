"""The floating pools of the state that the verbs of `berth serve` share."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import cast

import orjson
import pytest

from berth.configuration.store import Configurations
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.runtime.adapters import CacheAdapters
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects.projection import WAITS_FOR_POOL
from berth.scheduling.plugins.floating_resources import PoolLevel
from berth_cli.server.local_stack import pool_levels
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from tests.builders.nodes import node
from tests.builders.pods import pod_object
from tests.fakes.published import PublishedCluster

SEAT = "example.com/seat"
FLOATING = {
    "profile": "managed-resources",
    "managedResources": [{"name": SEAT, "capacity": {"value": 12, "scope": "cluster"}}],
}
ON_NODES = {"profile": "managed-resources", "managedResources": [{"name": SEAT}]}


@pytest.mark.parametrize(
    ("document", "is_published", "wanted"),
    [
        pytest.param(FLOATING, True, [PoolLevel(f"{SEAT}@cluster", 12, 2, 1)], id="pods that hold, and pods that wait"),
        pytest.param(FLOATING, False, [], id="nothing is published yet"),
        pytest.param(ON_NODES, True, [], id="no floating pool: the state is not read"),
    ],
)
def test_pool_levels_describe_the_published_state(
    document: object, is_published: bool, wanted: list[PoolLevel]
) -> None:
    cluster = PublishedCluster()
    cluster.publish_nodes([node("a")])
    holds, waits = pod_object("h", node_name="a", requests={SEAT: "2"}), pod_object("w", requests={SEAT: "2"})
    cluster.publish("pods", [holds, waits | {WAITS_FOR_POOL: True}])
    head = cluster.table.head() if is_published else Head("uid", None)
    text = orjson.dumps(document).decode()
    configurations = Configurations(
        InMemoryConfigurationStore(cluster.item), lambda: BerthConfiguration.model_validate_json(text)
    )
    reader = NodeCacheReader(cluster.table, SnapshotView(), time.sleep)
    adapters = cast(CacheAdapters, SimpleNamespace(reader=reader, configurations=configurations))
    assert list(pool_levels(adapters, head)) == wanted
