"""One log line and one set of metrics a call, by verb and outcome. Nothing here is shared between calls."""

from __future__ import annotations

from enum import StrEnum

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

NAMESPACE = "Berth"
CALLS = "Calls"
DURATION = "Duration"
VERB = "verb"
OUTCOME = "outcome"


class Telemetry:
    """Keys are constant, so that a query finds every verb's lines: verb, outcome, pod, detail, milliseconds."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._logger = Logger(service="berth", logger_formatter=None)

    def ended(self, outcome: StrEnum, *, pod: str, detail: str, milliseconds: float, failed: bool) -> None:
        """Tell how a call ended. Failures are warnings; what the policy decided is information."""
        log = self._logger.warning if failed else self._logger.info
        log(self._verb, verb=self._verb, outcome=outcome, pod=pod, detail=detail, milliseconds=round(milliseconds, 3))
        metrics = EphemeralMetrics(namespace=NAMESPACE, service="berth")
        metrics.add_dimension(VERB, self._verb)
        metrics.add_dimension(OUTCOME, outcome)
        metrics.add_metric(CALLS, MetricUnit.Count, 1)
        metrics.add_metric(DURATION, MetricUnit.Milliseconds, milliseconds)
        metrics.flush_metrics()

    def unexpected(self, pod: str) -> None:
        """An exception that no one foresaw, with its stack trace. Call it while it is being handled."""
        self._logger.exception("unexpected exception", verb=self._verb, pod=pod)
