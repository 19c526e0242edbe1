"""Runs a console: follows the source, and serves the page on the loopback address."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import boto3
import click
from click import ClickException

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ActiveConfiguration, Configurations
from berth.decisions.recorders import DynamoDBDecisionTable
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.table import GangTable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.dynamodb_table import DynamoDBCacheTable
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.runtime.adapters import CacheAdapters
from berth_cli.console.access import Access
from berth_cli.console.application import ConsoleApplication
from berth_cli.console.cluster import ClusterSource, NodeCacheSource, followed_dump, followed_kubeconfig
from berth_cli.console.decisions import DecisionDocuments, DecisionsHere, DecisionSource
from berth_cli.console.feed import Feed
from berth_cli.console.gangs import GangDocuments
from berth_cli.console.pending_documents import PendingDocuments
from berth_cli.console.stack_decisions import StackDecisions
from berth_cli.server.http import server
from berth_cli.server.recent_decisions import RecentDecisions
from berth_cli.sources.cached_objects import ReplacementsView
from berth_cli.sources.stack import CACHE_TABLE_NAME, CLIENT_CONFIG, LEDGER_TABLE_NAME, aws_errors, describe

HOST = "127.0.0.1"
"""The only listen address, because anyone who can reach the page sees the cluster."""


@dataclass(frozen=True, slots=True)
class ConsoleContents:
    """The contents of a console. decisions: None if there is no source of decisions. gang_table: opens the table of
    gangs in bind; None if there is no table. weight: the extender's weight in kube-scheduler's configuration."""

    source: ClusterSource
    decisions: DecisionSource | None = None
    gang_table: Callable[[], GangTable] | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Console:
    """A console, and the socket on which it is served."""

    application: ConsoleApplication
    listener: socket.socket
    feed: Feed

    def run(self) -> None:
        """Serve in this thread until Ctrl-C."""
        with self.feed.followed():
            server.Server(self.application).run(self.listener)


def open_console(shown: ConsoleContents, port: int, show: Callable[[str], None]) -> Console:
    """Listen, and issue the first address. show: called with each address, which opens the page once. Raises
    ListenError."""
    listener = server.listen(HOST, port)
    authority = f":{listener.getsockname()[1]}"
    hosts = frozenset((f"{HOST}{authority}", f"localhost{authority}"))
    access = Access(hosts, lambda token: show(f"http://{HOST}{authority}/#token={token}"))
    feed = Feed(shown.source, time.time)
    documents = {
        **feed.by_path,
        **PendingDocuments(feed, time.monotonic, time.time, shown.weight, shown.decisions).by_path,
        **GangDocuments(feed, shown.gang_table, time.monotonic, time.time).by_path,
        **DecisionDocuments(shown.decisions).by_path,
    }
    return Console(ConsoleApplication(access, documents), listener, feed)


@contextmanager
def console_in_thread(shown: ConsoleContents, port: int, show: Callable[[str], None]) -> Iterator[Console]:
    """Serve in the background until the block ends. Raises ListenError."""
    console = open_console(shown, port, show)
    with console.feed.followed(), server.serve_in_thread(console.application, console.listener):
        yield console


def show_address(address: str) -> None:
    """Print an address for the user to open."""
    click.echo(f"console: {address} (opens once, in one browser)")


SERVE_LOOK_SECONDS = 0.25
"""The interval of reads in seconds. The node cache of `berth serve` is in this process, or in tables that its verbs
read more often."""


def cluster_contents(
    dump: Path | None, kubeconfig: Path | None, configured: ActiveConfiguration, weight: int
) -> ConsoleContents:
    """Return the contents for a dump or a live cluster. Raises ClickException if the kubeconfig cannot be read."""
    if dump is not None:
        return ConsoleContents(followed_dump(dump, configured), weight=weight)
    assert kubeconfig is not None
    try:
        return ConsoleContents(followed_kubeconfig(kubeconfig, configured, time.time), weight=weight)
    except ClusterUnavailable as error:
        raise ClickException(str(error)) from error


def stack_contents(stack: str, region: str | None, weight: int) -> ConsoleContents:
    """Return the contents for a deployed stack: its node cache and its recorded decisions. Raises ClickException."""
    with aws_errors():
        deployed = describe(stack, region)
        client = boto3.client("dynamodb", region_name=region, config=CLIENT_CONFIG)
        table = deployed.output(CACHE_TABLE_NAME)
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
    """Return the contents for `berth serve` in this process: the cluster that its verbs use, and their decisions.
    address: the server's address."""
    tables, configurations = adapters.tables, adapters.configurations
    replacements = NodeCacheReader(tables.cache, ReplacementsView(), time.sleep)
    source = NodeCacheSource(
        address, tables.cache, adapters.reader, configurations, Event(), SERVE_LOOK_SECONDS, replacements
    )
    return ConsoleContents(source, DecisionsHere(recent), tables.gangs)
