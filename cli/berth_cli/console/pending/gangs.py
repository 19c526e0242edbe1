"""Gangs and what each one waits for: the port, and the gangs of the cluster that the console shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from berth.dynamodb_errors import TableUnavailable
from berth.gangs.item import Domain, GangItem
from berth.gangs.open_gangs import shown
from berth.gangs.table import GangTable
from berth.scheduling.gangs.gang import OpenGang
from berth.scheduling.gangs.overview import GangStatus
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.documents.not_read import NotRead
from berth_cli.gangs.report import Gangs, document


class GangSource(ABC):
    """Safe to share between threads."""

    @abstractmethod
    def gangs(self, now: float) -> Mapping[str, Any] | NotRead:
        """What `berth gangs list -o json` prints. It may take some seconds of a processor. now: seconds since the
        epoch."""


class ObservedGangs(GangSource):
    """By the rules of filter, on what the console has read."""

    def __init__(
        self, observed: Callable[[], ObservedCluster | None], table: Callable[[], GangTable] | None = None
    ) -> None:
        """`table`: opens the table of gangs that are being bound; None where there is none."""
        self._observed, self._table = observed, table
        self._lock = Lock()
        self._last: tuple[ObservedCluster, Sequence[OpenGang], Sequence[GangStatus]] | None = None

    def gangs(self, now: float) -> Mapping[str, Any] | NotRead:
        observed = self._observed()
        if observed is None:
            return NotRead("the cluster was not read yet")
        if not observed.configured.policy.gangs.enabled:
            return {"gangs": [], "open": None, "compared": False}
        items: Sequence[GangItem] = ()
        domain = Domain()
        if self._table is not None:
            try:
                table = self._table()
                items, domain = list(table.gangs()), table.domain()
            except TableUnavailable as error:
                return NotRead(str(error))
        return document(Gangs(items, domain, self._statuses(observed, items, now)), now)

    def _statuses(self, observed: ObservedCluster, items: Sequence[GangItem], now: float) -> Sequence[GangStatus]:
        """Planned anew only where the cluster or a bind went on."""
        open_gangs = [each for item in items if (each := shown(item, now)) is not None]
        with self._lock:
            last = self._last
            if (
                last is None
                or last[0].snapshot is not observed.snapshot
                or last[0].configured is not observed.configured
                or last[1] != open_gangs
            ):
                found = observed.configured.policy.gangs_in(observed.snapshot, open_gangs)
                last = self._last = observed, open_gangs, found
            return last[2]
