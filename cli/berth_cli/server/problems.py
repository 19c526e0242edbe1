"""The problems of a running server's sources, for its log and GET /healthz. If a source fails, the server continues:
the verbs decide with the data that they have. So each change is logged at once, and /healthz has the status `degraded`,
long before the data is stale.
"""

from __future__ import annotations

import logging
from threading import Lock

import orjson

from berth.extender.outcomes import BindOutcome, FailureOutcome
from berth.nodecache.health import HealthOutcome
from berth.runtime.http.events import HTTPAnswer, HTTPEvent
from berth_cli.configuration.trial import VERB_FUNCTIONS
from berth_cli.server.functions import Handler

FAILED_CALLS = 3
"""The number of successive failed calls of a verb that are a problem; fewer may have failed because of a single pod."""

_FAILED = {*FailureOutcome, BindOutcome.REFUSED, BindOutcome.UNANSWERED, BindOutcome.LEDGER_UNAVAILABLE}

log = logging.getLogger("berth")


class Problems:
    """The current problems by source: an option of `berth serve`, or a verb. Thread-safe."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._failed_calls: dict[str, int] = {}
        self._lock = Lock()

    def note(self, source: str, problem: str) -> None:
        """Replace the source's problem, and log a change. problem: empty if the source works."""
        with self._lock:
            before = self._found.pop(source, "")
            if problem:
                self._found[source] = problem
        if problem != before:
            log.warning("%s: %s", source, problem or "works again")

    def note_call(self, verb: str, outcome: str) -> None:
        """Count successive failed calls of a verb. A malformed request does not count, because no source causes it."""
        if verb in VERB_FUNCTIONS.values() and outcome != FailureOutcome.BAD_REQUEST:
            with self._lock:
                failed = self._failed_calls[verb] = self._failed_calls.get(verb, 0) + 1 if outcome in _FAILED else 0
            self.note(verb, f"calls fail, the last one as {outcome}" if failed >= FAILED_CALLS else "")

    def added_to(self, healthz: Handler) -> Handler:
        """Return a handler of /healthz that adds the problems, and replaces `ok` by `degraded`. The HTTP status stays
        the same: the verbs still decide, and a restart would not help."""

        def handle(event: HTTPEvent, context: object) -> HTTPAnswer:
            answer: HTTPAnswer = healthz(event, context)
            content = orjson.loads(answer["body"])
            with self._lock:
                found = dict(self._found)
            if not found or "status" not in content:  # a denied caller does not get details
                return answer
            status = "degraded" if content["status"] == HealthOutcome.OK else content["status"]
            return {**answer, "body": orjson.dumps({**content, "status": status, "problems": found}).decode()}

        return handle
