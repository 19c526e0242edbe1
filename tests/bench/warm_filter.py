"""The in-function time of a warm filter, beside its floor: decode the event and the body, encode the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import orjson

from berth.extender.filter import answer_filter, failed
from berth.nodecache.cluster import NoSchedulingQueue
from berth.nodecache.in_memory_table import InMemoryCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.watcher import Watcher
from berth.runtime.endpoint import Endpoint
from berth.scheduling.configuration import BerthConfiguration
from tests.bench.cluster import InMemoryNodes, labelled_nodes
from tests.bench.figures import Figure, milliseconds

NAMES = (100, 1_000, 5_000)
TARGET_NAMES, TARGET_RATIO = 5_000, 5.0


def figures() -> Iterator[Figure]:
    """Ratios, and the times they are made of."""
    for count in NAMES:
        event = filter_event(count)
        floor, warm = milliseconds(partial(decode_and_encode, event), warm_filter(event, count))
        yield Figure(f"filter.warm.{count}.floor", floor, "ms")
        yield Figure(f"filter.warm.{count}", warm, "ms")
        yield Figure(f"filter.warm.{count}.ratio", warm / floor, "x", TARGET_RATIO if count == TARGET_NAMES else None)


def filter_event(count: int) -> bytes:
    """What Lambda hands to the runtime: the event as JSON, with the request in it as text."""
    names = [node.name for node in labelled_nodes(count)]
    pod = {
        "metadata": {"name": "web-0", "namespace": "default", "uid": "8d3e", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]},
        "status": {"phase": "Pending"},
    }
    body = orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).decode()
    return orjson.dumps(
        {
            "version": "2.0",
            "routeKey": "POST /scheduler/filter",
            "rawPath": "/scheduler/filter",
            "headers": {"content-type": "application/json"},
            "requestContext": {"http": {"method": "POST", "path": "/scheduler/filter"}},
            "body": body,
            "isBase64Encoded": False,
        }
    )


def decode_and_encode(event: bytes) -> bytes:
    """The least that any extender behind this API does with the request: all names pass, unseen."""
    names = orjson.loads(orjson.loads(event)["body"])["NodeNames"]
    answer = {
        "Nodes": None,
        "NodeNames": names,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    return orjson.dumps({"statusCode": 200, "body": orjson.dumps(answer).decode(), "isBase64Encoded": False})


def warm_filter(event: bytes, count: int) -> Callable[[], bytes]:
    """The function's own way, from the event's bytes to the answer's, with the table in memory."""
    table = InMemoryCacheTable()
    reader = NodeCacheReader(table, sleep=lambda _: None)
    nodes = InMemoryNodes(labelled_nodes(count))
    Watcher(nodes, table, reader, NoSchedulingQueue(), clock=lambda: 0.0, new_id=lambda: "snapshot").run()
    policy = BerthConfiguration().policy()
    endpoint = Endpoint("filter", partial(answer_filter, policy=policy, snapshots=reader), failed)
    return lambda: orjson.dumps(endpoint.handle(orjson.loads(event)))
