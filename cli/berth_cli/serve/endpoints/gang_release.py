"""POST /gangs/release of `berth serve`: it ends the placement of a gang, as the caller has read it."""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from berth.dynamodb_errors import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import Failure, FailureOutcome
from berth.gangs.table import GangTable
from berth.runtime.http.answers import HTTPAnswer, http_answer
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPEvent, body_of
from berth.scheduling.gangs.gang import GangKey
from berth_cli.gangs.release import ReleaseOutcome, read_target, release
from berth_cli.serve.endpoints.gangs import GangsOutcome

ROUTE = "POST /gangs/release"
BAD_REQUEST = 'send {"gang": "NAMESPACE/GANG", "revision": "…"}, as GET /gangs shows them'


class GangReleaseEndpoint(Endpoint):
    """200 with the result, 400 for another body, 503 while the table cannot be read or written."""

    def __init__(
        self,
        settings: EndpointSettings,
        table: Callable[[], GangTable] | None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """table: opens it; None where there is none. wall: seconds since the epoch."""
        super().__init__("gangs-release", settings)
        self._table, self._wall = table, wall

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        asked = _asked(event)
        if asked is None:
            self._log_ended(FailureOutcome.BAD_REQUEST, BAD_REQUEST, caller, started, failed=True)
            return http_answer(400, orjson.dumps({"reason": BAD_REQUEST}))
        key, revision = asked
        try:
            outcome = self._released(key, revision)
        except TableUnavailable as error:
            self._log_ended(GangsOutcome.UNAVAILABLE, str(error), caller, started, failed=True)
            return http_answer(503, orjson.dumps({"reason": str(error)}))
        self._log_ended(outcome, str(key), caller, started, failed=False)
        return http_answer(200, orjson.dumps({"gang": str(key), "result": outcome.value}))

    def _released(self, key: GangKey, revision: str) -> ReleaseOutcome:
        if self._table is None:
            return ReleaseOutcome.NOT_OPEN
        table = self._table()
        target = read_target(table, key)
        return release(table, target, self._wall) if target.revision == revision else ReleaseOutcome.CHANGED


def _asked(event: HTTPEvent) -> tuple[GangKey, str] | None:
    body = body_of(event)
    try:
        content = None if isinstance(body, Failure) else orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    match content:
        case {"gang": str(gang), "revision": str(revision)} if gang.count("/") == 1:
            return GangKey(*gang.split("/")), revision
        case _:
            return None
