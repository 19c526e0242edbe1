"""GET /gangs of `berth serve`: what `berth gangs list -o json` prints of tables that it can read."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.table import GangTable
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.gangs.report import Gangs, document, statuses_in
from berth_cli.reservations.claims import ClaimSources
from berth_cli.serve.endpoints.document import DocumentEndpoint

ROUTE = "GET /gangs"


class GangsOutcome(StrEnum):
    """UNAVAILABLE: the gangs' items could not be read."""

    OK = "ok"
    UNAVAILABLE = "failure-ledger-unavailable"


class GangsEndpoint(DocumentEndpoint):
    """Reads all gangs and the whole node cache: for an operator, not for a probe."""

    def __init__(
        self,
        settings: EndpointSettings,
        table: Callable[[], GangTable] | None,
        published: ClaimSources,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """table: opens it; None where there is none. wall: seconds since the epoch."""
        super().__init__("gangs", settings, GangsOutcome.OK, GangsOutcome.UNAVAILABLE, TableUnavailable)
        self._table, self._published, self._wall = table, published, wall

    def _content(self) -> dict[str, object]:
        now = self._wall()
        if self._table is None:
            return document(Gangs(statuses=statuses_in(self._published, [], now)), now)
        table = self._table()
        items = list(table.gangs())
        return document(Gangs(items, table.domain(), statuses_in(self._published, items, now)), now)
