"""The endpoint of a function behind the HTTP API: checks the caller, answers, and catches unexpected exceptions.

The deadline of a call is the scheduler's httpTimeout, less a reserve. The scheduler's timeout starts before the
handler: a cold authorizer and a cold start have used a part of it. So the gateway's clock shows when the
call began (`requestContext.timeEpoch`), and this machine's clock shows how long ago. The two clocks can differ:

- A request from the future counts as just arrived.
- No scheduler waits longer than LONGEST_WAIT_SECONDS. An older request counts as just arrived: the clocks differ.
- Any other age is used. A machine's clock that is ahead shortens the call; it never lengthens the call.

A deadline is therefore never later than one that begins with the handler.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import NamedTuple, Protocol

import orjson

from berth.extender.arguments import pod_named_in
from berth.extender.deadline import Deadline
from berth.extender.outcomes import Failure, FailureOutcome, Outcome, plugin_failed
from berth.extender.ports import NodeCache
from berth.extender.reply import AnyDecision, DecisionRecorder, FailedCall, Reply
from berth.lease.clock import Clock, SystemClock
from berth.runtime.decisions import decision_recorder
from berth.runtime.environment import SchedulerSettings
from berth.runtime.http.callers import CallerSettings, caller_check
from berth.runtime.http.events import (
    CONFIGURATION_TRIAL_SOURCE,
    PRE_TRAFFIC_SOURCE,
    RESERVE_SECONDS,
    WARM_UP_SOURCE,
    HTTPAnswer,
    HTTPEvent,
    body_of,
    call_deadline,
    http_answer,
    is_from,
    lambda_answer,
)
from berth.runtime.http.first_call import load_before_first_call
from berth.runtime.settings import PolicySettings
from berth.runtime.telemetry.metrics import measured_call, record_slow_call
from berth.runtime.telemetry.telemetry import Telemetry
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.snapshot.parts import Parts

INTERNAL_ERROR = "Berth failed unexpectedly; the function's log has the cause"
TOO_LARGE = (
    "the answer is larger than the 6 MB that Lambda returns; set nodeCacheCapable: true, so that names are answered "
    "instead of nodes"
)

SYSTEM_CLOCK = SystemClock()

log = logging.getLogger("berth")

FORBIDDEN = 403
_DENIAL = orjson.dumps({"message": "Forbidden"})  # as the gateway answers for its authorizer


@dataclass(frozen=True, kw_only=True)
class EndpointSettings(CallerSettings, SchedulerSettings):
    """Settings of every function behind the HTTP API."""


@dataclass(frozen=True, kw_only=True)
class NodeCacheSettings(PolicySettings, EndpointSettings):
    """Settings of a function behind the HTTP API that has a node cache."""


class Endpoint(ABC):
    """The base of all routes. It checks the caller before it reads the request."""

    def __init__(
        self,
        verb: str,
        settings: EndpointSettings,
        warm_up: Callable[[], int] = lambda: 0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Create the route. `warm_up`: prepares the next call on a warm-up event, and returns the version that it
        loaded."""
        self._settings = settings
        self._clock = clock
        self._callers = caller_check(settings, clock.wall)
        self._warm_up = warm_up
        self._telemetry = Telemetry(verb)
        load_before_first_call(self._warmed_up, settings)

    def handle(self, event: HTTPEvent) -> HTTPAnswer:
        if is_from(event, WARM_UP_SOURCE):
            return self._warmed_up()
        with measured_call():
            started = perf_counter()
            deadline = call_deadline(event, self._settings.http_timeout, self._clock)
            caller = ""
            if self._callers is not None and not is_from(event, PRE_TRAFFIC_SOURCE):
                decision = self._callers.decide(event, deadline)
                if not decision.allowed:
                    self._callers.report(decision, started)
                    return http_answer(FORBIDDEN, _DENIAL)
                caller = decision.detail
            return self._respond(event, caller, started, deadline)

    @abstractmethod
    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        """Answer an allowed caller. `caller`: for the log. `started`: a time of `perf_counter`."""

    def _warmed_up(self) -> HTTPAnswer:
        if self._callers is not None:
            self._callers.preload()
        return http_answer(200, orjson.dumps({"version": self._warm_up()}))


class Page(NamedTuple):
    outcome: StrEnum
    answer: HTTPAnswer
    detail: str = ""


class PageEndpoint(Endpoint):
    def __init__(self, name: str, settings: EndpointSettings, page: Callable[[HTTPEvent], Page]) -> None:
        super().__init__(name, settings)
        self._page = page

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        outcome, answer, detail = self._page(event)
        milliseconds, failed = (perf_counter() - started) * 1000, outcome.startswith("failure-")
        self._telemetry.ended(outcome, detail=detail, milliseconds=milliseconds, failed=failed, caller=caller)
        return answer


class Answer(Protocol):
    """A verb: turns a request's body into a reply, before the deadline."""

    def __call__(self, body: str | bytes, *, deadline: Deadline) -> Reply:
        """Return the reply. Raises PluginFailed; any other exception is unexpected."""


class VerbEndpoint(Endpoint):
    """Endpoint of a verb: it always answers, and does not show a stack trace to the caller."""

    def __init__(
        self,
        verb: str,
        settings: EndpointSettings,
        answer: Answer,
        failed: Callable[[Failure], Reply],
        warm_up: Callable[[], int] = lambda: 0,
        clock: Clock = SYSTEM_CLOCK,
        trial_cache: Callable[[Parts], NodeCache] | None = None,
        recorder: DecisionRecorder | None = None,
    ) -> None:
        """Create the endpoint. `failed`: encodes a failure in the verb's format. `trial_cache`: returns the cache for a
        trial that reads these parts. `recorder`: records decisions; by default the process's recorder."""
        super().__init__(verb, settings, warm_up, clock)
        self._verb = verb
        self._recorder = recorder or decision_recorder()
        self._has_failed_to_record = False
        self._answer = answer
        self._failed = failed
        self._trial_cache = trial_cache

    def handle(self, event: HTTPEvent) -> HTTPAnswer:
        if not is_from(event, CONFIGURATION_TRIAL_SOURCE):
            return super().handle(event)
        # Imported here: a cold start must not wait for it.
        from berth.runtime.http.configuration_trial import try_configuration

        return http_answer(200, orjson.dumps(try_configuration(event.get("document"), self._trial_cache)))

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        body = body_of(event)
        reply = self._failed(body) if isinstance(body, Failure) else self._answered(body, deadline)
        answer = self._encoded(reply, event)
        if answer is None:
            reply = self._failed(Failure(FailureOutcome.ANSWER_TOO_LARGE, TOO_LARGE, reply.pod))
            answer = http_answer(reply.status, reply.body)
        milliseconds = (perf_counter() - started) * 1000
        if reply.decision is not None:
            self._record(reply.outcome, reply.decision, milliseconds)
        elif reply.pod and isinstance(reply.outcome, FailureOutcome):
            self._record(reply.outcome, FailedCall(reply.pod, reply.detail), milliseconds)
        record_slow_call(deadline.remaining() + RESERVE_SECONDS, self._settings.http_timeout)
        self._telemetry.ended(
            reply.outcome,
            pod=reply.pod,
            detail=reply.detail,
            milliseconds=milliseconds,
            failed=isinstance(reply.outcome, FailureOutcome),
            caller=caller,
            reason_code=reply.reason_code,
        )
        return answer

    def _record(self, outcome: Outcome, decision: AnyDecision, milliseconds: float) -> None:
        """Record the decision. A failure does not affect the answer, and is logged only once."""
        try:
            self._recorder.record(self._verb, outcome, decision, milliseconds)
        except Exception as error:
            if not self._has_failed_to_record:
                self._has_failed_to_record = True
                log.warning("decisions are not recorded: %s: %s", type(error).__name__, error)

    def _encoded(self, reply: Reply, event: HTTPEvent) -> HTTPAnswer | None:
        if self._settings.lambda_function:
            return lambda_answer(reply.status, reply.body, event)
        return http_answer(reply.status, reply.body)

    def _answered(self, body: str | bytes, deadline: Deadline) -> Reply:
        try:
            return self._answer(body, deadline=deadline)
        except PluginFailed as error:
            pod = pod_named_in(body)
            # The plugin's author needs the stack trace.
            self._telemetry.exception("plugin failed", pod)
            return self._failed(plugin_failed(pod, error))
        except Exception:
            pod = pod_named_in(body)
            self._telemetry.exception("unexpected exception", pod)
            return self._failed(Failure(FailureOutcome.INTERNAL, INTERNAL_ERROR, pod))
