"""The source that the options name. Imported when the console starts: AWS SDK and Kubernetes client are slow to
import."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import boto3
from botocore.exceptions import BotoCoreError
from click import ClickException

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import Configurations, Configured
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.runtime.adapters import counting_loss_check
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.console.cluster.followed_cluster import followed_dump, followed_kubeconfig
from berth_cli.console.cluster.node_cache import NodeCacheSource
from berth_cli.console.health.tables import ConsoleTables
from berth_cli.console.running import Shown
from berth_cli.deployed_stack import (
    CACHE_TABLE_NAME,
    CLIENT_CONFIG,
    LEDGER_TABLE_NAME,
    StackUnavailable,
    describe,
)
from berth_cli.input_files import InvalidInput


def dump_source(path: Path, configured: Configured) -> Shown:
    """A dump. Raises InvalidInput."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file; make a dump with: kubectl get nodes,pods -A -o json > FILE")
    return Shown(followed_dump(path, configured))


def kubeconfig_source(path: Path, configured: Configured) -> Shown:
    """A live cluster. Raises ClickException for a kubeconfig that cannot be read."""
    try:
        return Shown(followed_kubeconfig(path, configured, time.time))
    except ClusterUnavailable as error:
        raise ClickException(str(error)) from error


def stack_source(stack: str, region: str | None) -> Shown:
    """The node cache of a deployed stack. Raises ClickException."""
    try:
        deployed = describe(stack, region)
        client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
        table = deployed.output(CACHE_TABLE_NAME)
    except StackUnavailable as error:
        raise ClickException(str(error)) from error
    except BotoCoreError as error:
        raise ClickException(f"{error}; are AWS credentials and region set?") from error
    ledger_name = deployed.outputs.get(LEDGER_TABLE_NAME, "")
    store = DynamoDBConfigurationStore(client, table, ledger_name)
    cache, configurations = DynamoDBCacheTable(client, table), Configurations(store, BerthConfiguration)
    reader = NodeCacheReader(cache, SnapshotView(), time.sleep)
    ledger = DynamoDBLedgerTable(client, ledger_name) if ledger_name else None
    loss = None if ledger is None else counting_loss_check(ledger, store)
    return Shown(
        NodeCacheSource(stack, cache, reader, configurations, Event().wait),
        ConsoleTables(cache, DynamoDBLeaseLock(client, table), configurations, ledger, loss),
    )
