"""What a function finds when a fixture invokes it: a table that a watcher has filled, a secret, and a cluster."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from berth.cluster.dump import DumpCluster
from berth.nodecache.cluster import NoSchedulingQueue
from berth.nodecache.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.watcher import Watcher
from tests.deployment.emulator import Emulator
from tests.deployment.template import read_template

from .api_server import DumpedApiServer


@contextmanager
def surroundings(emulator: Emulator, dump: Path, directory: Path, host: str) -> Iterator[Path]:
    """Make them for one invocation, so that none sees what another did; yields the file for `--env-vars`."""
    name = uuid.uuid4().hex
    with DumpedApiServer(dump, host) as api_server:
        _publish(emulator, dump, table_name=name)
        variables = {
            "BERTH_CACHE_TABLE": name,
            "BERTH_KUBECONFIG_SECRET": emulator.create_secret(name, api_server.kubeconfig()),
        }
        path = directory / f"{name}.json"
        path.write_text(json.dumps({"Parameters": variables}))
        yield path


def _publish(emulator: Emulator, dump: Path, table_name: str) -> None:
    properties = dict(read_template()["Resources"]["CacheTable"]["Properties"])
    del properties["TimeToLiveSpecification"]  # no property of a table where it is created through its API
    client = emulator.client("dynamodb")
    client.create_table(TableName=table_name, **properties)
    table = DynamoDBCacheTable(client, table_name)
    reader = NodeCacheReader(table, time.sleep)
    Watcher(DumpCluster(dump), table, reader, NoSchedulingQueue(), time.time, lambda: uuid.uuid4().hex).run()
