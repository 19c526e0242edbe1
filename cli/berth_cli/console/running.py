"""A console that runs: the source is followed, and the page is served on the loopback address."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import uvicorn

from berth.gangs.table import GangTable
from berth_cli.console.cluster.source import ClusterSource, SourceKind
from berth_cli.console.decisions.documents import (
    DETAILS,
    OF_NODE,
    STREAM,
    decision_details,
    decision_events,
    decisions_of_node,
)
from berth_cli.console.decisions.source import DecisionSource
from berth_cli.console.documents.feed import Feed
from berth_cli.console.health.doctor import DOCTOR, Checks, DoctorDocuments, no_doctor
from berth_cli.console.health.documents import HealthDocuments
from berth_cli.console.health.source import HealthSource
from berth_cli.console.http.access import Access, Outcome, Refusal
from berth_cli.console.http.application import ConsoleApplication, Document, Stream
from berth_cli.console.http.known_browsers import KnownBrowsers, file_of
from berth_cli.console.pending.documents import EXPLAIN, PENDING, PendingDocuments
from berth_cli.console.pending.gang_documents import GANG, GangDocuments
from berth_cli.console.pending.gangs import GangSource, ObservedGangs
from berth_cli.console.policy.documents import DIFF, PolicyDocuments, SecondPolicy
from berth_cli.console.policy.replay import ReplayDocuments
from berth_cli.console.policy.shadow import Shadow, ShadowDocuments
from berth_cli.http_server import server

HOST = "127.0.0.1"
"""Never another one: whoever reaches the page sees the cluster."""

NO_CLUSTER = Refusal(
    404, Outcome.UNKNOWN_PATH, "a berth serve gives out neither nodes nor pods; start the console with --kubeconfig too"
)


@dataclass(frozen=True, slots=True)
class ConsoleContents:
    """What a console shows. health: None for a cluster alone. decisions: None where no verb is known. second: None
    without a policy beside the one in force. gangs: None for those of the source, with the table of gangs that are
    being bound, where there is one. doctor: None where there is no installation. shadow: None where no policy judges
    live decisions. recording: None without one. weight: of the extender in kube-scheduler's configuration."""

    source: ClusterSource
    health: HealthSource | None = None
    decisions: DecisionSource | None = None
    second: SecondPolicy | None = None
    gangs: GangSource | None = None
    gang_table: Callable[[], GangTable] | None = None
    doctor: Checks | None = None
    shadow: Shadow | None = None
    recording: Path | None = None
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


def open_console(
    shown: ConsoleContents, port: int, show: Callable[[str], None], environment: Mapping[str, str] = os.environ
) -> Console:
    """Listen, and give out the first address. show: called with each address that opens the page once. environment:
    names the directory of the user's state, which keeps the browsers of a port. Raises ListenError."""
    listener = server.listen(HOST, port)
    authority = f":{listener.getsockname()[1]}"
    access = Access(
        frozenset((f"{HOST}{authority}", f"localhost{authority}")),
        lambda token: show(f"http://{HOST}{authority}/#token={token}"),
        # Nobody comes back to a port that was free by chance.
        browsers=KnownBrowsers(file_of(port, environment) if port else None, time.time),
    )
    feed = Feed(shown.source, time.time)
    gangs = shown.gangs or ObservedGangs(lambda: feed.observed, shown.gang_table)
    calls, sampling = (tuple, "") if shown.decisions is None else (shown.decisions.calls, shown.decisions.sampling)
    documents: dict[str, Document] = {
        **PendingDocuments(feed, time.monotonic, time.time, shown.weight, shown.decisions).by_path,
        **GangDocuments(feed, gangs, time.monotonic, time.time).by_path,
        **HealthDocuments(feed, shown.health, time.time, time.monotonic, calls, gangs, sampling).by_path,
        **PolicyDocuments(feed, shown.second, time.monotonic, str(shown.recording or ""), shown.weight).by_path,
        **ReplayDocuments(feed, shown.recording, shown.second, time.monotonic).by_path,
        **ShadowDocuments(shown.shadow).by_path,
        DOCTOR: no_doctor,
        **({} if shown.doctor is None else DoctorDocuments(shown.doctor, time.monotonic).by_path),
    }
    if shown.source.kind is SourceKind.SERVER:
        documents |= dict.fromkeys((PENDING, EXPLAIN, GANG, DIFF), lambda _: NO_CLUSTER)
    streams: dict[str, Stream] = {}
    if shown.decisions is not None:
        documents[DETAILS] = partial(decision_details, shown.decisions)
        documents[OF_NODE] = partial(decisions_of_node, shown.decisions)
        streams[STREAM] = partial(decision_events, shown.decisions)
    application = ConsoleApplication(access, feed, time.time, documents, streams)
    uvicorn_server = server.create_server(application)
    application.is_stopping = lambda: uvicorn_server.should_exit
    return Console(uvicorn_server, listener, feed)


@contextmanager
def console_in_thread(shown: ConsoleContents, port: int, show: Callable[[str], None]) -> Iterator[Console]:
    """Serve until the block ends, beside what the program does itself. Raises ListenError."""
    console = open_console(shown, port, show)
    with console.feed.followed(), server.running_in_thread(console.uvicorn_server, console.listener):
        yield console


def show_address(address: str) -> None:
    """On standard output, for a person to open."""
    click.echo(f"console: {address} (opens once, in one browser)")
