"""What a console shows, by the options of the command. Imported when the console starts: AWS SDK and Kubernetes client
are slow to import."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event

import boto3
from botocore.exceptions import BotoCoreError
from click import ClickException

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ActiveConfiguration, Configurations
from berth.decisions.recorders import DynamoDBDecisionTable, RecentDecisions
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.runtime.adapters import CacheAdapters
from berth_cli.console.cluster import NodeCacheSource, followed_dump, followed_kubeconfig
from berth_cli.console.decisions import DecisionsHere
from berth_cli.console.running import ConsoleContents
from berth_cli.console.stack_decisions import StackDecisions
from berth_cli.sources.stack import CACHE_TABLE_NAME, CLIENT_CONFIG, LEDGER_TABLE_NAME, StackUnavailable, describe

SERVE_LOOK_SECONDS = 0.25
"""The node cache of `berth serve` is in this process, or in tables that its verbs read more often."""


def cluster_contents(
    dump: Path | None, kubeconfig: Path | None, configured: ActiveConfiguration, weight: int
) -> ConsoleContents:
    """Show a dump, or a live cluster. Raises ClickException for a kubeconfig that cannot be read."""
    if dump is not None:
        return ConsoleContents(followed_dump(dump, configured), weight=weight)
    assert kubeconfig is not None
    try:
        return ConsoleContents(followed_kubeconfig(kubeconfig, configured, time.time), weight=weight)
    except ClusterUnavailable as error:
        raise ClickException(str(error)) from error


def stack_contents(stack: str, region: str | None, weight: int) -> ConsoleContents:
    """Show the node cache of a deployed stack, and the decisions in its table. Raises ClickException."""
    try:
        deployed = describe(stack, region)
        client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
        table = deployed.output(CACHE_TABLE_NAME)
    except StackUnavailable as error:
        raise ClickException(str(error)) from error
    except BotoCoreError as error:
        raise ClickException(f"{error}; are AWS credentials and region set?") from error
    ledger = deployed.outputs.get(LEDGER_TABLE_NAME, "")
    store = DynamoDBConfigurationStore(client, table, ledger)
    cache = DynamoDBCacheTable(client, table)
    reader = NodeCacheReader(cache, SnapshotView(), time.sleep)
    source = NodeCacheSource(stack, cache, reader, Configurations(store, deployed.configuration), Event())
    records = DynamoDBDecisionTable(client, table)
    return ConsoleContents(
        source,
        StackDecisions(f"the stack {stack}", records, lambda: source.last, time.monotonic),
        (lambda: DynamoDBGangTable(client, ledger)) if ledger else None,
        weight,
    )


def serve_contents(address: str, adapters: CacheAdapters, recent: RecentDecisions) -> ConsoleContents:
    """Show what the verbs of `berth serve` in this process decide on, and their decisions. address: of the server."""
    tables, configurations = adapters.tables, adapters.configurations
    source = NodeCacheSource(address, tables.cache, adapters.reader, configurations, Event(), SERVE_LOOK_SECONDS)
    return ConsoleContents(source, DecisionsHere(recent), tables.gangs)
