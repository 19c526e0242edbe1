"""GET /gangs, /reservations and /users, and POST /gangs/release of `berth serve`.

The documents are those that `berth gangs list -o json` and `berth reservations list -o json` print. `berth doctor`
checks the rights of the users. Reading gangs and reservations reads whole tables: for an operator, not for a probe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum

import orjson

from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import Failure, FailureOutcome
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, body_of, http_answer
from berth.scheduling.gangs.gang import GangKey
from berth_cli.ledger import gangs, reservations
from berth_cli.ledger.claims import ClaimSources, diverging_claims

GANGS, GANG_RELEASE = "GET /gangs", "POST /gangs/release"
RESERVATIONS, USERS = "GET /reservations", "GET /users"
BAD_REQUEST = 'send {"gang": "NAMESPACE/GANG"}'

User = Callable[[], Mapping[str, object]]
"""Asks the API server for the user as which it is called. Raises ClusterUnavailable."""

Wall = Callable[[], float]
"""Seconds since the epoch."""


class StateOutcome(StrEnum):
    """LEDGER_UNAVAILABLE: a table could not be read. CLUSTER_UNAVAILABLE: the API server did not answer."""

    OK = "ok"
    LEDGER_UNAVAILABLE = "failure-ledger-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"


class StateEndpoint(Endpoint):
    """Answers 200 with the content, 400 if the request cannot be understood, and 503 with the reason on a failure."""

    def __init__(
        self, name: str, settings: EndpointSettings, content: Callable[[HTTPEvent], Mapping[str, object] | None]
    ) -> None:
        """content: None if the request cannot be understood. It may raise TableUnavailable or ClusterUnavailable."""
        super().__init__(name, settings)
        self._content = content

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        try:
            content = self._content(event)
        except (TableUnavailable, ClusterUnavailable) as error:
            is_ledger = isinstance(error, TableUnavailable)
            outcome = StateOutcome.LEDGER_UNAVAILABLE if is_ledger else StateOutcome.CLUSTER_UNAVAILABLE
            self._log_ended(outcome, str(error), caller, started, failed=True)
            return http_answer(503, orjson.dumps({"reason": str(error)}))
        if content is None:
            self._log_ended(FailureOutcome.BAD_REQUEST, BAD_REQUEST, caller, started, failed=True)
            return http_answer(400, orjson.dumps({"reason": BAD_REQUEST}))
        self._log_ended(StateOutcome.OK, "", caller, started, failed=False)
        return http_answer(200, orjson.dumps(content))


def state_endpoints(
    settings: EndpointSettings,
    ledger: LedgerTable | None,
    gang_table: Callable[[], GangTable] | None,
    sources: ClaimSources,
    users: Mapping[str, User],
    wall: Wall = time.time,
) -> Mapping[str, StateEndpoint]:
    """Build the endpoints by route. ledger: None if nothing is counted. gang_table: None without gangs."""

    def read_gangs(_event: HTTPEvent) -> Mapping[str, object]:
        table = None if gang_table is None else gang_table()
        now, items = wall(), [] if table is None else list(table.gangs())
        statuses = gangs.statuses_in(sources, items, now)
        found = gangs.Gangs(items, statuses=statuses) if table is None else gangs.Gangs(items, table.domain(), statuses)
        return gangs.document(found, now)

    def release_gang(event: HTTPEvent) -> Mapping[str, object] | None:
        key = _gang_in(event)
        if key is None:
            return None
        if gang_table is None:
            return {"gang": str(key), "result": gangs.ReleaseOutcome.NOT_IN_BIND}
        return {"gang": str(key), "result": gangs.release(gang_table(), key, wall)}

    def read_reservations(_event: HTTPEvent) -> Mapping[str, object]:
        nodes = [] if ledger is None else ledger.nodes()
        announced = [] if ledger is None else ledger.open_reservations()
        return reservations.document(nodes, announced, wall(), diverging_claims(sources, nodes))

    def read_users(_event: HTTPEvent) -> Mapping[str, object]:
        # Without the UID and the extra fields, which name tokens and pods.
        return {
            name: {field: value for field, value in user().items() if field in ("username", "groups")}
            for name, user in users.items()
        }

    return {
        GANGS: StateEndpoint("gangs", settings, read_gangs),
        GANG_RELEASE: StateEndpoint("gangs-release", settings, release_gang),
        RESERVATIONS: StateEndpoint("reservations", settings, read_reservations),
        USERS: StateEndpoint("users", settings, read_users),
    }


def _gang_in(event: HTTPEvent) -> GangKey | None:
    body = body_of(event)
    try:
        content = None if isinstance(body, Failure) else orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    match content:
        case {"gang": str(gang)} if gang.count("/") == 1 and all(gang.split("/")):
            return GangKey(*gang.split("/"))
    return None
