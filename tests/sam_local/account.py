"""The resources of an invoked function: a filled cache table, secrets, and a cluster."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
from berth.cluster.dump_cluster import DumpCluster
from berth.lease.clock import SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.watcher import Watcher
from tests.builders.event_fixtures import ALLOW_LIST, PASSWORD
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.deployment.dump_api_server import DumpApiServer
from tests.deployment.emulator import Emulator


@contextmanager
def invocation_environment(
    emulator: Emulator, dump: Path, directory: Path, host: str, *, needs_password: bool = False
) -> Iterator[Path]:
    """Create new resources for one invocation, and yield the file for `--env-vars`.

    `needs_password`: for the authorizer. All other functions check certificates.
    """
    name = uuid.uuid4().hex
    with DumpApiServer(dump, host) as api_server:
        _publish(emulator, dump, table_name=name)
        create_ledger_table(emulator.client("dynamodb"), f"{name}-ledger")
        variables = {
            "BERTH_CACHE_TABLE": name,
            "BERTH_LEDGER_TABLE": f"{name}-ledger",
            "BERTH_KUBECONFIG_SECRET": emulator.create_secret(name, api_server.kubeconfig()),
            # This mode lists and publishes once; the continuous mode would watch until the function's timeout.
            "BERTH_WATCHER_MODE": "periodic",
            **_authentication_settings(emulator, name, needs_password=needs_password),
        }
        path = directory / f"{name}.json"
        path.write_text(json.dumps({"Parameters": variables}))
        yield path


def _authentication_settings(emulator: Emulator, name: str, *, needs_password: bool) -> dict[str, str]:
    if needs_password:
        return {
            "BERTH_AUTHENTICATION": "basic",
            "BERTH_PASSWORD_SECRET": emulator.create_secret(f"{name}-password", PASSWORD),
        }
    DynamoDBAllowList(emulator.client("dynamodb"), name).replace(ALLOW_LIST.read_text())
    return {"BERTH_AUTHENTICATION": "mtls"}


def _publish(emulator: Emulator, dump: Path, table_name: str) -> None:
    client = emulator.client("dynamodb")
    create_cache_table(client, table_name)
    clock = SystemClock()
    elector = LeaderElector(
        DynamoDBLeaseLock(client, table_name), LeaderElectionConfig(), "sam-local", clock, random.random
    )
    Watcher(
        elector,
        DumpCluster(dump),
        DynamoDBCacheTable(client, table_name),
        clock=clock,
        sleep=time.sleep,
        stopped=lambda: False,
        new_id=lambda: uuid.uuid4().hex,
        on_published=lambda publication: None,
        once=True,
    ).run()
