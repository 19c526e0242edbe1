"""`/api/gangs` and `/api/gang`: all gangs with what they wait for, and what keeps one of them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

import orjson

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.members import lives
from berth_cli.console.documents.feed import Feed
from berth_cli.console.documents.not_read import NotRead
from berth_cli.console.http.access import Outcome, Refusal
from berth_cli.console.http.application import Document, Query
from berth_cli.console.pending.documents import SEARCH_SECONDS
from berth_cli.console.pending.gangs import GangSource
from berth_cli.console.pending.target import pending_target
from berth_cli.explain.gang import explain_gang, gang_document, gang_text, with_changes
from berth_cli.explain.report import search_note
from berth_cli.explain.rules import Rules
from berth_cli.input_files import InvalidInput

GANGS = "/api/gangs"
GANG = "/api/gang"


class GangDocuments:
    """One explanation at a time: it may take some seconds of a processor. The list does not wait for it."""

    def __init__(
        self, feed: Feed, source: GangSource, monotonic: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        """`monotonic`: seconds. `wall`: seconds since the epoch."""
        self._feed, self._source, self._monotonic, self._wall = feed, source, monotonic, wall
        self._lock = Lock()

    @property
    def by_path(self) -> Mapping[str, Document]:
        """For the application."""
        return {GANGS: self.gangs, GANG: self.gang}

    def gangs(self, _: Query) -> bytes | Refusal:
        """What `berth gangs list -o json` prints."""
        found = self._source.gangs(self._wall())
        return Refusal(503, Outcome.NOT_READY, found.reason) if isinstance(found, NotRead) else orjson.dumps(found)

    def gang(self, query: Query) -> bytes | Refusal:
        """What `berth explain --gang -o json` prints of a gang with a pending member, its headline, and
        `searchNote`: why there are no changes, or may be others; empty where there is nothing to say."""
        observed = self._feed.observed
        if observed is None:
            return Refusal(503, Outcome.NOT_READY, self._feed.condition.problem)
        namespace, slash, name = query.get("gang", "").partition("/")
        if not slash:
            return Refusal(400, Outcome.BAD_QUERY, "gang is not NAMESPACE/NAME")
        members = observed.configured.policy.members_of(GangKey(namespace, name), observed.snapshot).values()
        waiting = [pod for pod in members if not pod.node_name and lives(pod)]
        if not waiting:
            return Refusal(404, Outcome.UNKNOWN_PATH, f"no member of gang {namespace}/{name} is pending")
        with self._lock:
            end = self._monotonic() + SEARCH_SECONDS
            target = pending_target(min(waiting, key=lambda pod: pod.name), observed.snapshot)
            configuration = observed.configured.document
            try:
                found = explain_gang(target, configuration)
                found = with_changes(found, target, Rules(configuration), lambda: self._monotonic() >= end)
            except (InvalidInput, PluginFailed) as error:
                return Refusal(503, Outcome.NOT_READY, str(error))
        note = "" if found.search is None else search_note(found.search, SEARCH_SECONDS)
        return orjson.dumps({**gang_document(found), "headline": next(gang_text(found)), "searchNote": note})
