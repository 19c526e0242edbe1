"""A console in this process, on a cluster that the test changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Condition
from time import time

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.cluster import ClusterSource, ObservedCluster
from berth_cli.console.decisions import DecisionsHere
from berth_cli.console.feed import Feed
from berth_cli.console.running import ConsoleContents, console_in_thread
from berth_cli.server.recent_decisions import RecentDecisions
from tests.unit.cli.console.cases import DEFAULT


class LiveSource(ClusterSource):
    """A source whose changes are visible at once."""

    def __init__(
        self, nodes: Iterable[NodeInfo] = (), pods: Iterable[Pod] = (), configured: ActiveConfiguration = DEFAULT
    ) -> None:
        self._changed = Condition()
        # Otherwise the first `observe` waits for a change, and each page that opens meanwhile retries after a second.
        self._is_news = True
        self._configured = configured
        self._found = ObservedCluster(Snapshot.of(nodes, pods), time(), configured)

    @property
    def name(self) -> str:
        return "a cluster"

    def shows(
        self, nodes: Iterable[NodeInfo], pods: Iterable[Pod] = (), *, problem: str = "", age: float = 0.0
    ) -> None:
        self._show(ObservedCluster(Snapshot.of(nodes, pods), time() - age, self._configured, problem))

    def change(self, changes: Changes) -> None:
        self._show(replace(self._found, snapshot=self._found.snapshot.with_changes(changes), observed_at=time()))

    def _show(self, found: ObservedCluster) -> None:
        with self._changed:
            self._found, self._is_news = found, True
            self._changed.notify_all()

    def observe(self, timeout: float) -> ObservedCluster:
        with self._changed:
            self._changed.wait_for(lambda: self._is_news, timeout)
            self._is_news = False
            return self._found

    def close(self) -> None:
        with self._changed:
            self._is_news = True
            self._changed.notify_all()


class Served:
    """A running console. addresses: the printed addresses, newest last. feed: the console's feed."""

    feed: Feed

    def __init__(self) -> None:
        self.addresses: list[str] = []

    @property
    def origin(self) -> str:
        return self.addresses[-1].partition("/#")[0]

    @property
    def port(self) -> int:
        return int(self.origin.rpartition(":")[2])


@contextmanager
def served(source: ClusterSource, port: int = 0, recent: RecentDecisions | None = None) -> Iterator[Served]:
    """Serve a console until the block ends. recent: the decisions of verbs in this process."""
    decisions = None if recent is None else DecisionsHere(recent)
    with served_as(ConsoleContents(source, decisions), port) as console:
        yield console


@contextmanager
def served_as(shown: ConsoleContents, port: int = 0) -> Iterator[Served]:
    found = Served()
    with console_in_thread(shown, port, found.addresses.append) as console:
        found.feed = console.feed
        yield found
