"""A console that runs: the source is followed, and the page is served on the loopback address."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click
import uvicorn

from berth.ledger.gangs.table import GangTable
from berth_cli.console.access import Access
from berth_cli.console.application import ConsoleApplication
from berth_cli.console.cluster import ClusterSource
from berth_cli.console.decisions import DecisionDocuments, DecisionSource
from berth_cli.console.feed import Feed
from berth_cli.console.gangs import GangDocuments
from berth_cli.console.pending_documents import PendingDocuments
from berth_cli.http_server import server

HOST = "127.0.0.1"
"""Never another one: whoever reaches the page sees the cluster."""


@dataclass(frozen=True, slots=True)
class ConsoleContents:
    """What a console shows. decisions: None if no verb is known. gang_table: opens the table of gangs that are being
    bound; None without one. weight: of the extender in kube-scheduler's configuration."""

    source: ClusterSource
    decisions: DecisionSource | None = None
    gang_table: Callable[[], GangTable] | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Console:
    """Served by `uvicorn_server` on `listener`."""

    uvicorn_server: uvicorn.Server
    listener: socket.socket
    feed: Feed

    def run(self) -> None:
        """Serve in this thread, until Ctrl-C."""
        with self.feed.followed():
            self.uvicorn_server.run(sockets=[self.listener])


def open_console(shown: ConsoleContents, port: int, show: Callable[[str], None]) -> Console:
    """Listen, and give out the first address. show: called with each address that opens the page once. Raises
    ListenError."""
    listener = server.listen(HOST, port)
    authority = f":{listener.getsockname()[1]}"
    hosts = frozenset((f"{HOST}{authority}", f"localhost{authority}"))
    access = Access(hosts, lambda token: show(f"http://{HOST}{authority}/#token={token}"))
    feed = Feed(shown.source, time.time)
    slow = {
        **PendingDocuments(feed, time.monotonic, time.time, shown.weight, shown.decisions).by_path,
        **GangDocuments(feed, shown.gang_table, time.monotonic, time.time).by_path,
        **DecisionDocuments(shown.decisions).by_path,
    }
    return Console(server.create_server(ConsoleApplication(access, feed.by_path, slow)), listener, feed)


@contextmanager
def console_in_thread(shown: ConsoleContents, port: int, show: Callable[[str], None]) -> Iterator[Console]:
    """Serve until the block ends, beside what the program does itself. Raises ListenError."""
    console = open_console(shown, port, show)
    with console.feed.followed(), server.running_in_thread(console.uvicorn_server, console.listener):
        yield console


def show_address(address: str) -> None:
    """Print an address for a person to open."""
    click.echo(f"console: {address} (opens once, in one browser)")
