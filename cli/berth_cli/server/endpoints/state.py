"""GET /gangs, /reservations and /users of `berth serve`.

The documents are the output of `berth gangs list -o json` and `berth reservations list -o json`. `berth doctor` checks
the permissions of the users. /gangs and /reservations read whole tables: do not use them as a probe.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import orjson

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.table import GangTable
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.http.endpoint import EndpointSettings, Page, PageEndpoint
from berth.runtime.http.events import http_answer
from berth_cli.ledger import gangs, reservations
from berth_cli.ledger.claims import ClaimSources, diverging_claims
from berth_cli.server.endpoints import RequestOutcome

GANGS, RESERVATIONS, USERS = "GET /gangs", "GET /reservations", "GET /users"

User = Callable[[], Mapping[str, object]]
"""Asks the API server for the user of this process's credentials. Raises ClusterUnavailable."""

Wall = Callable[[], float]
"""Returns the seconds since the epoch."""


def _page(content: Callable[[], Mapping[str, object]]) -> Page:
    """Return 200 and the content; if it raises TableUnavailable or ClusterUnavailable, 503 and the cause."""
    try:
        return Page(RequestOutcome.OK, http_answer(200, orjson.dumps(content())))
    except (TableUnavailable, ClusterUnavailable) as error:
        is_ledger = isinstance(error, TableUnavailable)
        outcome = RequestOutcome.LEDGER_UNAVAILABLE if is_ledger else RequestOutcome.CLUSTER_UNAVAILABLE
        return Page(outcome, http_answer(503, orjson.dumps({"reason": str(error)})), str(error))


def state_endpoints(
    settings: EndpointSettings,
    ledger: LedgerTable | None,
    gang_table: Callable[[], GangTable] | None,
    sources: ClaimSources,
    users: Mapping[str, User],
    wall: Wall = time.time,
) -> Mapping[str, PageEndpoint]:
    """Build the endpoints by route. ledger, gang_table: None if the store does not have this table."""

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
        # Leave out the UID and the extra fields, which identify tokens and pods.
        return {
            name: {field: value for field, value in user().items() if field in ("username", "groups")}
            for name, user in users.items()
        }

    return {
        GANGS: PageEndpoint("gangs", settings, lambda _: _page(read_gangs)),
        RESERVATIONS: PageEndpoint("reservations", settings, lambda _: _page(read_reservations)),
        USERS: PageEndpoint("users", settings, lambda _: _page(read_users)),
    }
