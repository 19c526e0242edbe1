"""GET /reservations of `berth serve`: what `berth reservations list -o json` prints of a ledger that it can read."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

from berth.ledger.nodes.table import LedgerTable, TableUnavailable
from berth.runtime.http.endpoint import EndpointSettings
from berth_cli.reservations.claims import ClaimSources, diverging_claims
from berth_cli.reservations.report import document
from berth_cli.serve.endpoints.document import DocumentEndpoint

ROUTE = "GET /reservations"


class ReservationsOutcome(StrEnum):
    """UNAVAILABLE: the ledger could not be read."""

    OK = "ok"
    UNAVAILABLE = "failure-ledger-unavailable"


class ReservationsEndpoint(DocumentEndpoint):
    """Reads the whole ledger and the whole node cache: for an operator, not for a probe."""

    def __init__(
        self,
        settings: EndpointSettings,
        ledger: LedgerTable | None,
        sources: ClaimSources,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`ledger`: None where there is none. `wall`: seconds since the epoch."""
        super().__init__(
            "reservations", settings, ReservationsOutcome.OK, ReservationsOutcome.UNAVAILABLE, TableUnavailable
        )
        self._ledger, self._sources, self._wall = ledger, sources, wall

    def _content(self) -> dict[str, object]:
        ledgers = [] if self._ledger is None else self._ledger.nodes()
        announced = [] if self._ledger is None else self._ledger.open_reservations()
        return document(ledgers, announced, self._wall(), diverging_claims(self._sources, ledgers))
