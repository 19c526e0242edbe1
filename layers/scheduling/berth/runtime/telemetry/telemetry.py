"""One log line and one set of metrics a call, by verb and outcome; and, where X-Ray is on, a subsegment with the same.

Nothing here is shared between calls.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from aws_lambda_powertools import Logger, Tracer

from berth.runtime.telemetry.call_log import SERVICE, CallLog
from berth.runtime.telemetry.metrics import BYTES, COUNT, MILLISECONDS, OUTCOME, VERB, Metrics, group

CALLS = group([[VERB, OUTCOME], [VERB]], {"Calls": COUNT, "Duration": MILLISECONDS})
SIZES = group([[VERB]], {"RequestSize": BYTES, "AnswerSize": BYTES})
FAILURES = group([[VERB], []], {"Failures": COUNT})
DENIALS = group([[]], {"Denials": COUNT})


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a request's and an answer's body, in bytes (a request that is text: in characters)."""

    request: int
    answer: int


class Telemetry:
    """Keys are constant, so that a query finds every verb's lines: verb, outcome, pod, detail, milliseconds."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._logger = Logger(service=SERVICE, logger_formatter=None)
        self._log = CallLog(self._logger)
        self._metrics = Metrics()
        self._tracer = _tracer()

    @contextmanager
    def traced(self) -> Iterator[None]:
        """The call as a subsegment of the function's trace; nothing while tracing is off."""
        if self._tracer is None:
            yield
            return
        with self._tracer.provider.in_subsegment(name=f"## {self._verb}"):
            yield

    def ended(
        self,
        outcome: StrEnum,
        *,
        pod: str,
        detail: str,
        milliseconds: float,
        failed: bool,
        sizes: Sizes | None = None,
        caller: str = "",
    ) -> None:
        """Tell how a call ended, within `traced`. Failures are warnings; what the policy decided is information.

        `caller`: who was let in by this function; empty where another part decided.
        """
        now = time.time()
        self._log.write(
            logging.WARNING if failed else logging.INFO,
            self._verb,
            {
                VERB: self._verb,
                OUTCOME: outcome,
                "pod": pod,
                "detail": detail,
                "milliseconds": round(milliseconds, 3),
                **({"caller": caller} if caller else {}),
            },
            now,
        )
        self._measure(outcome, milliseconds, sizes, now)
        if self._tracer is not None:
            self._tracer.put_annotation(VERB, self._verb)
            self._tracer.put_annotation(OUTCOME, outcome)

    def _measure(self, outcome: StrEnum, milliseconds: float, sizes: Sizes | None, now: float) -> None:
        groups = [CALLS]
        values = {"Calls": [1.0], "Duration": [float(milliseconds)]}
        if sizes is not None:
            groups.append(SIZES)
            values |= {"RequestSize": [float(sizes.request)], "AnswerSize": [float(sizes.answer)]}
        # An alarm looks at one metric: what it is to notice is one, whatever it is called.
        if outcome.startswith("failure-"):
            groups.append(FAILURES)
            values["Failures"] = [1.0]
        elif outcome.startswith("denied-"):
            groups.append(DENIALS)
            values["Denials"] = [1.0]
        self._metrics.emit(groups, {VERB: self._verb, OUTCOME: outcome}, values, now)

    def unexpected(self, pod: str) -> None:
        """An exception that no one foresaw, with its stack trace. Call it while it is being handled."""
        self._logger.exception("unexpected exception", verb=self._verb, pod=pod)


def _tracer() -> Tracer | None:
    """None where tracing is off. Powertools' tracer would import the X-Ray SDK all the same: a tenth of a cold start,
    with a clock and an identity in it, which an image of the process (SnapStart) would have for all."""
    if os.environ.get("POWERTOOLS_TRACE_DISABLED", "").lower() in ("true", "1"):
        return None
    tracer = Tracer(service=SERVICE, auto_patch=False)
    return None if tracer.disabled else tracer
