"""The source that the options name. Imported when the console starts: AWS SDK and Kubernetes client are slow to
import."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import boto3
from botocore.exceptions import BotoCoreError
from click import ClickException

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ActiveConfiguration, Configurations
from berth.decisions.dynamodb_table import DynamoDBDecisionTable
from berth.gangs.dynamodb_table import DynamoDBGangTable
from berth.lease.clock import SystemClock
from berth.lease.dynamodb_lock import DynamoDBLeaseLock
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.runtime.adapters import counting_loss_check
from berth_cli.console.cluster.followed_cluster import followed_dump, followed_kubeconfig
from berth_cli.console.cluster.node_cache import NodeCacheSource
from berth_cli.console.decisions.stack import StackDecisions
from berth_cli.console.health.doctor import Checks
from berth_cli.console.health.tables import ConsoleTables, TableHealth
from berth_cli.console.running import ConsoleContents
from berth_cli.console.running_server.decisions import ServerDecisions
from berth_cli.console.running_server.gangs import ServerGangs
from berth_cli.console.running_server.health import ServerHealth
from berth_cli.console.running_server.server import NoAnswer, RunningServer
from berth_cli.console.running_server.shadow import server_shadow
from berth_cli.console.running_server.source import ServerSource, read_configuration
from berth_cli.doctor.findings import Finding
from berth_cli.doctor.inputs import Options, read_inputs
from berth_cli.input_files import InvalidInput
from berth_cli.options import TLSFiles
from berth_cli.sources.server import CredentialsUnreadable, Endpoint, TLSMaterial
from berth_cli.sources.stack import (
    CACHE_TABLE_NAME,
    CLIENT_CONFIG,
    LEDGER_TABLE_NAME,
    StackUnavailable,
    describe,
)

CALL_SECONDS = 10.0
"""For one question to a server."""


def dump_source(path: Path, configured: ActiveConfiguration) -> ConsoleContents:
    """A dump. Raises InvalidInput."""
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file; make a dump with: kubectl get nodes,pods -A -o json > FILE")
    return ConsoleContents(followed_dump(path, configured))


def kubeconfig_source(path: Path, configured: ActiveConfiguration) -> ConsoleContents:
    """A live cluster. Raises ClickException for a kubeconfig that cannot be read."""
    try:
        source = followed_kubeconfig(path, configured, time.time)
    except ClusterUnavailable as error:
        raise ClickException(str(error)) from error
    return ConsoleContents(source, doctor=doctor_with(Options(kubeconfig=path)))


def doctor_with(options: Options) -> Checks:
    """The checks of `berth doctor` with these options."""

    def run() -> Sequence[Finding]:
        # Imported here: most consoles are never asked for it.
        from berth_cli.doctor.checklist import run_checks

        return list(run_checks(read_inputs(options), time.time))

    return run


def stack_source(stack: str, region: str | None) -> ConsoleContents:
    """The node cache of a deployed stack, and what its tables have beside it. Raises ClickException."""
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
    cache, configurations = DynamoDBCacheTable(client, table), Configurations(store, deployed.configuration)
    reader = NodeCacheReader(cache, SnapshotView(), time.sleep)
    ledger = DynamoDBLedgerTable(client, ledger_name) if ledger_name else None
    loss = None if ledger is None else counting_loss_check(ledger, store)
    tables = ConsoleTables(cache, DynamoDBLeaseLock(client, table), configurations, ledger, loss)
    source = NodeCacheSource(stack, cache, reader, configurations, Event())
    records = DynamoDBDecisionTable(client, table)
    return ConsoleContents(
        source,
        TableHealth(tables, SystemClock()),
        StackDecisions(f"the stack {stack}", records, lambda: source.last, time.monotonic),
        gang_table=(lambda: DynamoDBGangTable(client, ledger_name)) if ledger_name else None,
        doctor=doctor_with(Options(stack=stack, region=region)),
    )


def running_server(url: str, files: TLSFiles) -> RunningServer:
    """The server behind the urlPrefix. Asks nothing yet. Raises ClickException."""
    try:
        return RunningServer(Endpoint(url, TLSMaterial.of(files), CALL_SECONDS))
    except CredentialsUnreadable as error:
        raise ClickException(str(error)) from error


def server_source(server: RunningServer, doctor: Checks) -> ConsoleContents:
    """What it says without its cluster."""
    return with_server(ConsoleContents(ServerSource(server, time.time, Event())), server, doctor)


def with_server(cluster: ConsoleContents, server: RunningServer, doctor: Checks) -> ConsoleContents:
    """Nodes and pods from the cluster; health, decisions and gangs from the server."""
    return replace(
        cluster,
        health=ServerHealth(server, time.monotonic),
        decisions=ServerDecisions(server, time.monotonic),
        gangs=ServerGangs(server, time.monotonic),
        doctor=doctor,
        shadow=partial(server_shadow, server),
    )


def configured_by(server: RunningServer) -> ActiveConfiguration:
    """What the server decides by. Raises ClickException."""
    health = server.health()
    if isinstance(health, NoAnswer):
        raise ClickException(health.reason)
    configured, problem = read_configuration(health.get("configuration"), server.address)
    if problem:
        raise ClickException(f"{problem}; or give --config or --profile")
    return configured
