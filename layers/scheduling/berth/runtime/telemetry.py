"""One log line and one set of metrics a call, by verb and outcome; and, where X-Ray is on, a subsegment with the same.

Nothing here is shared between calls.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from aws_lambda_powertools import Logger, Tracer

from berth.runtime.call_log import OUTCOME, SERVICE, VERB, CallLog, print_metrics


class Telemetry:
    """Keys are constant, so that a query finds every verb's lines: verb, outcome, pod, detail, milliseconds."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._logger = Logger(service=SERVICE, logger_formatter=None)
        self._log = CallLog(self._logger)
        self._measured = os.environ.get("POWERTOOLS_METRICS_DISABLED", "").lower() not in ("true", "1")
        # Off unless the template's parameter Tracing is Active; then the X-Ray SDK is imported, here and not before.
        self._tracer = Tracer(service=SERVICE, auto_patch=False)

    @contextmanager
    def traced(self) -> Iterator[None]:
        """The call as a subsegment of the function's trace; nothing while tracing is off."""
        if self._tracer.disabled:
            yield
            return
        with self._tracer.provider.in_subsegment(name=f"## {self._verb}"):
            yield

    def ended(self, outcome: StrEnum, *, pod: str, detail: str, milliseconds: float, failed: bool) -> None:
        """Tell how a call ended, within `traced`. Failures are warnings; what the policy decided is information."""
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
            },
            now,
        )
        if self._measured:
            print_metrics(self._verb, outcome, milliseconds, now)
        if not self._tracer.disabled:
            self._tracer.put_annotation(VERB, self._verb)
            self._tracer.put_annotation(OUTCOME, outcome)

    def unexpected(self, pod: str) -> None:
        """An exception that no one foresaw, with its stack trace. Call it while it is being handled."""
        self._logger.exception("unexpected exception", verb=self._verb, pod=pod)
