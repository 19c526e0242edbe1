"""The log: one line per call, with the call's metrics. Calls do not share state here.

The format is Powertools', but Berth writes it itself: Powertools took half of a call with 100 names.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import orjson
from aws_lambda_powertools import Logger

from berth.runtime.environment import set_until_end
from berth.runtime.telemetry.metrics import (
    COUNT,
    FAILURES,
    MILLISECONDS,
    OUTCOME,
    REASON_CODE,
    VERB,
    Metrics,
    group,
    measures_of_call,
)

if TYPE_CHECKING:
    from berth.upkeep.gangs import GangEvent

SERVICE = "berth"


ALARMED_CALLS = group([[VERB, OUTCOME]], {"Calls": COUNT})

CALLS_IN_DETAIL = group([[VERB, OUTCOME], [VERB]], {"Calls": COUNT, "Duration": MILLISECONDS})
REASONS_IN_DETAIL = group([[VERB, REASON_CODE]], {"NoNodeFits": COUNT})

ALARMED_OUTCOMES = frozenset({"ledger-unavailable"})
"""The outcomes of bind that an alarm of every stack counts."""


def _log_trouble(cause: str) -> None:
    if cause:
        logging.getLogger(SERVICE).warning("the watcher cannot work, and tries again: %s", cause)


@dataclass(frozen=True, slots=True)
class Observer:
    """Receives events of functions, in any thread. call: gets each call's verb, outcome, milliseconds and, if no node
    fits, the code of the main reason. gang: gets each GangEvent. trouble: see Watcher's on_trouble."""

    call: Callable[[str, str, float, str], None] = lambda *_: None
    gang: Callable[[GangEvent], None] = lambda _: None
    trouble: Callable[[str], None] = _log_trouble


_observer: ContextVar[Observer] = ContextVar("observer", default=Observer())  # noqa: B039  frozen


def observed_by(observer: Observer) -> AbstractContextManager[None]:
    """Give the observer to every function that is loaded inside the block; the function keeps it afterwards."""
    return set_until_end(_observer, observer)


def current_observer() -> Observer:
    return _observer.get()


class Telemetry:
    """Logs and measures calls. Keys are the same for every verb: verb, outcome, pod, detail, milliseconds."""

    def __init__(self, verb: str, metrics: Metrics | None = None) -> None:
        self._verb = verb
        self._logger = Logger(service=SERVICE, logger_formatter=None)
        self._metrics = metrics or Metrics()
        self._observer = current_observer()

    def ended(
        self,
        outcome: StrEnum,
        *,
        detail: str,
        milliseconds: float,
        failed: bool,
        pod: str = "",
        caller: str = "",
        reason_code: str = "",
    ) -> None:
        """Log how a call ended, within `measured_call`: failures as warnings, decisions of the policy as information.
        `caller`: the allowed caller, or empty. `reason_code`: the code of the reason that rejects the most nodes, if no
        node fits."""
        self._observer.call(self._verb, outcome, milliseconds, reason_code)
        now = time.time()
        identity = {VERB: self._verb, OUTCOME: outcome}
        if reason_code:
            identity[REASON_CODE] = reason_code
        metrics = self._measured(outcome, milliseconds, now, identity)
        described = {"pod": pod, "detail": detail, "milliseconds": round(milliseconds, 3)}
        if caller:
            described["caller"] = caller
        is_written = self._write(
            logging.WARNING if failed else logging.INFO, self._verb, {**identity, **described, **metrics}, now
        )
        if metrics and not is_written:  # metrics do not depend on the log level
            print(orjson.dumps({**metrics, **identity}).decode())

    def _measured(
        self, outcome: StrEnum, milliseconds: float, now: float, identity: Mapping[str, str]
    ) -> Mapping[str, object]:
        call = measures_of_call()
        groups, values = [*call.groups], dict(call.values)
        # An alarm evaluates one metric, so failures of all outcomes share a metric.
        if outcome.startswith("failure-"):
            values["Failures"] = [1.0]
            if FAILURES not in groups:  # unless `fell_back` has already counted the call
                groups.append(FAILURES)
        if self._metrics.detailed:
            groups.append(CALLS_IN_DETAIL)
            values |= {"Calls": [1.0], "Duration": [float(milliseconds)]}
            if REASON_CODE in identity:
                groups.append(REASONS_IN_DETAIL)
                values["NoNodeFits"] = [1.0]
        elif outcome in ALARMED_OUTCOMES:
            groups.append(ALARMED_CALLS)
            values["Calls"] = [1.0]
        return self._metrics.members(groups, identity, values, now)

    def _write(self, level: int, message: str, fields: Mapping[str, object], now: float) -> bool:
        """Write one line and return True, or return False if the level is disabled. now: seconds since the epoch."""
        logger = logging.getLogger(SERVICE)
        if not logger.isEnabledFor(level):
            return False
        line = {
            "level": logging.getLevelName(level),
            "message": message,
            "timestamp": datetime.fromtimestamp(now, UTC),
            "service": SERVICE,
            **fields,
        }
        trace = os.environ.get("_X_AMZN_TRACE_ID")
        if trace:
            line["xray_trace_id"] = trace.partition(";")[0].removeprefix("Root=")
        text = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE).decode()
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.acquire()
                try:
                    handler.stream.write(text)
                    handler.stream.flush()
                finally:
                    handler.release()
        return True

    def exception(self, message: str, pod: str) -> None:
        """Log an exception with its stack trace. Call it while it is being handled."""
        self._logger.exception(message, verb=self._verb, pod=pod)
