"""GET /gangs, /reservations and /users of `berth serve`.

The documents are the output of `berth gangs list -o json` and `berth reservations list -o json`. `berth doctor` checks
the permissions of the users. /gangs and /reservations read whole tables: do not use them as a probe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum

import orjson

from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, http_answer
from berth_cli.ledger import gangs, reservations
from berth_cli.ledger.claims import ClaimSources, diverging_claims

GANGS, RESERVATIONS, USERS = "GET /gangs", "GET /reservations", "GET /users"

User = Callable[[], Mapping[str, object]]
"""Asks the API server for the user name of this process's credentials. Raises ClusterUnavailable."""

Wall = Callable[[], float]
"""Seconds since the epoch."""


class StateOutcome(StrEnum):
    """The outcome of a request. LEDGER_UNAVAILABLE: a table could not be read. CLUSTER_UNAVAILABLE: the API server did
    not respond."""

    OK = "ok"
    LEDGER_UNAVAILABLE = "failure-ledger-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"


class StateEndpoint(Endpoint):
    """Responds with 200 and the content, or with 503 and the reason of a failure."""

    def __init__(self, name: str, settings: EndpointSettings, content: Callable[[], Mapping[str, object]]) -> None:
        """content: returns the response's content; may raise TableUnavailable or ClusterUnavailable."""
        super().__init__(name, settings)
        self._content = content

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        try:
            content = self._content()
        except (TableUnavailable, ClusterUnavailable) as error:
            is_ledger = isinstance(error, TableUnavailable)
            outcome = StateOutcome.LEDGER_UNAVAILABLE if is_ledger else StateOutcome.CLUSTER_UNAVAILABLE
            self._log_ended(outcome, str(error), caller, started, failed=True)
            return http_answer(503, orjson.dumps({"reason": str(error)}))
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
    """Build the endpoints by route. ledger: None if no resource is counted. gang_table: None without gangs."""

    def read_gangs() -> Mapping[str, object]:
        table = None if gang_table is None else gang_table()
        now, items = wall(), [] if table is None else list(table.gangs())
        statuses = gangs.statuses_in(sources, items, now)
        found = gangs.Gangs(items, statuses=statuses) if table is None else gangs.Gangs(items, table.domain(), statuses)
        return gangs.document(found, now)

    def read_reservations() -> Mapping[str, object]:
        nodes = [] if ledger is None else ledger.nodes()
        announced = [] if ledger is None else ledger.open_reservations()
        return reservations.document(nodes, announced, wall(), diverging_claims(sources, nodes))

    def read_users() -> Mapping[str, object]:
        # Without the UID and the extra fields, which identify tokens and pods.
        return {
            name: {field: value for field, value in user().items() if field in ("username", "groups")}
            for name, user in users.items()
        }

    return {
        GANGS: StateEndpoint("gangs", settings, read_gangs),
        RESERVATIONS: StateEndpoint("reservations", settings, read_reservations),
        USERS: StateEndpoint("users", settings, read_users),
    }
