"""GET /reservations of `berth serve`: what `berth reservations list -o json` prints of a ledger that it can read."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum

import orjson

from berth.extender.deadline import Deadline
from berth.reservations.ledger.table import LedgerTable, TableUnavailable
from berth.runtime.http.answers import HTTPAnswer, http_answer
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPEvent
from berth_cli.reservations.claims import Claimed, diverging_claims
from berth_cli.reservations.report import NO_CLAIMS, NotCompared, document, rows

ROUTE = "GET /reservations"


class ReservationsOutcome(StrEnum):
    """UNAVAILABLE: the ledger could not be read."""

    OK = "ok"
    UNAVAILABLE = "failure-ledger-unavailable"


class ReservationsEndpoint(Endpoint):
    """Reads the whole ledger and the whole node cache: for an operator, not for a probe."""

    def __init__(
        self,
        settings: EndpointSettings,
        ledger: LedgerTable | None,
        claimed: Claimed,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`ledger`: None where there is none. `wall`: seconds since the epoch."""
        super().__init__("reservations", settings)
        self._ledger, self._claimed, self._wall = ledger, claimed, wall

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        detail, content = "", {}
        try:
            content = self._content()
        except TableUnavailable as error:
            detail = str(error)
        self._log_ended(
            ReservationsOutcome.UNAVAILABLE if detail else ReservationsOutcome.OK,
            detail,
            caller,
            started,
            failed=bool(detail),
        )
        return http_answer(503, orjson.dumps({"reason": detail})) if detail else http_answer(200, orjson.dumps(content))

    def _content(self) -> dict[str, object]:
        ledgers = [] if self._ledger is None else self._ledger.nodes()
        announced = [] if self._ledger is None else self._ledger.open_reservations()
        claims = diverging_claims(self._claimed, ledgers)
        compared = not isinstance(claims, NotCompared)
        found = rows(ledgers, announced, self._wall(), NO_CLAIMS if isinstance(claims, NotCompared) else claims)
        return document(found, ledgers, compared=compared)
