"""The endpoint of a verb: event, body, verb, answer. Unexpected exceptions end here."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import orjson

from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.reply import Reply
from berth.extender.wire import pod_named_in
from berth.runtime.http.events import HTTPAnswer, HTTPEvent, body_of, http_answer, is_warm_up
from berth.runtime.telemetry.telemetry import Sizes, Telemetry

INTERNAL_ERROR = "Berth failed unexpectedly; the function's log has the cause"


class Endpoint:
    """A verb behind the HTTP API. `failed`: encodes a failure in the verb's format."""

    def __init__(
        self,
        verb: str,
        answer: Callable[[str | bytes], Reply],
        failed: Callable[[Failure], Reply],
        warm_up: Callable[[], int] | None = None,
    ) -> None:
        """`warm_up`: loads the latest snapshot for a warm-up event, and returns its version."""
        self._answer = answer
        self._failed = failed
        self._warm_up = warm_up
        self._telemetry = Telemetry(verb)

    def handle(self, event: HTTPEvent) -> HTTPAnswer:
        """Never raises, and shows no stack trace to the caller."""
        if self._warm_up is not None and is_warm_up(event):
            return http_answer(200, orjson.dumps({"version": self._warm_up()}))
        with self._telemetry.traced():
            return self._handle(event)

    def _handle(self, event: HTTPEvent) -> HTTPAnswer:
        started = perf_counter()
        body = body_of(event)
        reply = self._failed(body) if isinstance(body, Failure) else self._answered(body)
        self._telemetry.ended(
            reply.outcome,
            pod=reply.pod,
            detail=reply.detail,
            milliseconds=(perf_counter() - started) * 1000,
            failed=isinstance(reply.outcome, FailureOutcome),
            sizes=None if isinstance(body, Failure) else Sizes(len(body), len(reply.body)),
        )
        return http_answer(reply.status, reply.body)

    def _answered(self, body: str | bytes) -> Reply:
        try:
            return self._answer(body)
        except Exception:
            pod = pod_named_in(body)
            self._telemetry.unexpected(pod)
            return self._failed(Failure(FailureOutcome.INTERNAL, INTERNAL_ERROR, pod))
