"""A source that tests drive, and a request to the console without a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from threading import Event
from typing import Any

import orjson

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.access import Access
from berth_cli.console.application import ConsoleApplication, Document
from berth_cli.console.cluster import ClusterSource, NotRead, ObservedCluster
from berth_cli.console.feed import Feed
from berth_cli.server.http.messages import Request
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

HOST = "127.0.0.1:8090"
ORIGIN = f"http://{HOST}"
NOW = 1000.0
DEFAULT = ActiveConfiguration.of(BerthConfiguration())
NO_COUNTING = DEFAULT.policy.counting


def node(name: str, **fields: Any) -> NodeInfo:
    found = read_node(node_with(name, **fields))
    assert isinstance(found, NodeInfo)
    return found


def pod(name: str, on: str = "", **fields: Any) -> Pod:
    if on:
        fields["nodeName"] = on
    found = read_pod(pod_with(name, **fields))
    assert isinstance(found, Pod)
    return found


def snapshot(nodes: Iterable[NodeInfo], pods: Iterable[Pod] = ()) -> Snapshot:
    return Snapshot.of(nodes, pods)


class Waits(Event):
    """An event whose `wait` returns at once. seconds: the timeouts that were passed."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return self.is_set()


class HandDrivenSource(ClusterSource):
    """Returns `found` at each `observe`, or raises it if it is an exception."""

    def __init__(self, found: ObservedCluster | NotRead) -> None:
        self.found: ObservedCluster | NotRead | Exception = found
        self.is_closed = False

    @property
    def name(self) -> str:
        return "dump.json"

    def observe(self, timeout: float) -> ObservedCluster | NotRead:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def close(self) -> None:
        self.is_closed = True

    def shows(self, seen: Snapshot, observed_at: float = NOW, configured: ActiveConfiguration = DEFAULT) -> None:
        self.found = ObservedCluster(seen, observed_at, configured)


@dataclass
class Running:
    """A console without a server. tokens: the tokens that were issued."""

    source: HandDrivenSource
    feed: Feed
    application: ConsoleApplication
    tokens: list[str]

    def ask(
        self, path: str, method: str = "GET", query: str = "", **headers: str | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body. headers: added to a valid Host, with _ for - in names; None omits one."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(
            method, path, query, {name: value for name, value in ({"host": HOST} | given).items() if value is not None}
        )
        found = self.application.begin(request) or self.application.answer(request)
        return found.status, {name.lower(): value for name, value in found.headers.items()}, found.content

    def session(self) -> str:
        """Open a session and return its key."""
        status, _, body = self.ask("/session", "POST", origin=ORIGIN, authorization=f"Bearer {self.tokens[-1]}")
        assert status == 200
        key: str = orjson.loads(body)["session"]
        return key

    def data(self, path: str, query: str = "") -> tuple[int, Any]:
        """Open a session and return the status and the data of a path."""
        status, _, body = self.ask(path, query=query, authorization=f"Bearer {self.session()}")
        return status, orjson.loads(body)


def running(
    found: ObservedCluster | NotRead | None = None,
    documents: Mapping[str, Document] | None = None,
    secrets: str = "secret",
) -> Running:
    """Return a console that has read its source once."""
    source = HandDrivenSource(found or ObservedCluster(snapshot([node("n1")]), NOW, DEFAULT))
    feed = Feed(source, lambda: NOW)
    feed.observe(0)
    tokens: list[str] = []
    numbers = count()
    access = Access(frozenset({HOST, "localhost:8090"}), tokens.append, lambda: f"{secrets}-{next(numbers)}")
    return Running(source, feed, ConsoleApplication(access, {**feed.by_path, **(documents or {})}), tokens)
