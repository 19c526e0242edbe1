"""`/api/gangs` and `/api/gang`: the gangs of the cluster with the reasons why they wait, and the explanation of a
gang."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import orjson

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.item import Domain, GangItem
from berth.ledger.gangs.table import GangTable, shown
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.gangs.members import lives
from berth.scheduling.gangs.overview import GangStatus
from berth_cli.console.access import Outcome, Refusal
from berth_cli.console.application import Document, Query
from berth_cli.console.cluster import ObservedCluster
from berth_cli.console.feed import Feed
from berth_cli.console.pending_target import pending_target
from berth_cli.explanation.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explanation.gang import explain_gang, gang_document
from berth_cli.ledger.gangs import Gangs, document
from berth_cli.terminal.input_files import InvalidInput


class GangDocuments:
    """Builds documents about gangs by filter's rules on the console's cluster. Makes one plan at a time, because a plan
    may take some seconds of processor time."""

    def __init__(
        self,
        feed: Feed,
        table: Callable[[], GangTable] | None,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        """Prepare the documents. `table`: opens the table of gangs in bind; None if there is no table. `monotonic`:
        returns seconds. `wall`: returns the seconds since the epoch."""
        self._feed, self._table, self._monotonic, self._wall = feed, table, monotonic, wall
        self._planning, self._explaining = Lock(), Lock()
        self._last: tuple[ObservedCluster, Sequence[OpenGang], Sequence[GangStatus]] | None = None

    @property
    def by_path(self) -> Mapping[str, Document]:
        """The application's documents by path."""
        return {"/api/gangs": self.gangs, "/api/gang": self.gang}

    def gangs(self, _: Query) -> bytes | Refusal:
        """Return the output of `berth gangs list -o json`."""
        observed = self._feed.observed_or_refusal()
        if isinstance(observed, Refusal):
            return observed
        if not observed.configured.policy.gangs.enabled:
            return orjson.dumps({"gangs": [], "open": None, "compared": False})
        items: Sequence[GangItem] = ()
        domain, now = Domain(), self._wall()
        if self._table is not None:
            try:
                table = self._table()
                items, domain = list(table.gangs()), table.domain()
            except TableUnavailable as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        return orjson.dumps(document(Gangs(items, domain, self._statuses(observed, items, now)), now))

    def gang(self, query: Query) -> bytes | Refusal:
        """Return the output of `berth explain --gang -o json` for a gang with a pending member."""
        observed = self._feed.observed_or_refusal()
        if isinstance(observed, Refusal):
            return observed
        namespace, slash, name = query.get("gang", "").partition("/")
        if not slash:
            return Refusal(400, Outcome.BAD_QUERY, "gang is not NAMESPACE/NAME")
        members = observed.configured.policy.members_of(GangKey(namespace, name), observed.snapshot).values()
        waiting = [pod for pod in members if not pod.node_name and lives(pod)]
        if not waiting:
            return Refusal(404, Outcome.UNKNOWN_PATH, f"no member of gang {namespace}/{name} is pending")
        with self._explaining:
            end = self._monotonic() + SEARCH_SECONDS
            target = pending_target(min(waiting, key=lambda pod: pod.name), observed)
            configuration = observed.configured.document
            try:
                found = explain_gang(target, configuration, is_over=lambda: self._monotonic() >= end)
            except (InvalidInput, PluginFailed) as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        return orjson.dumps(gang_document(found))

    def _statuses(self, observed: ObservedCluster, items: Sequence[GangItem], now: float) -> Sequence[GangStatus]:
        """Return the gangs' status. Make a new plan only if the cluster or a bind has changed."""
        open_gangs = [each for item in items if (each := shown(item, now)) is not None]
        with self._planning:
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
