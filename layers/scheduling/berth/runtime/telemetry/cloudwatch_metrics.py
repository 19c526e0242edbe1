"""Sends metrics by PutMetricData, for a watcher outside of Lambda: its output does not reach a log group of CloudWatch.

Metrics are kept for a minute and sent in one call, because CloudWatch charges for calls. Each has the time of its
measurement. Metrics that cannot be sent are dropped with a warning: a watcher never waits for its metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import cast

from botocore.exceptions import BotoCoreError, ClientError

from berth.runtime.telemetry.metrics import NAMESPACE, STACK, Group, Metrics

INTERVAL_SECONDS = 60.0

MAX_DATA = 1000
"""CloudWatch accepts at most this many metric data in one call."""

Datum = Mapping[str, object]


class CloudWatchMetrics(Metrics):
    """Keeps metrics and sends them every minute. Thread-safe. `close` sends the rest."""

    def __init__(
        self,
        put_metric_data: Callable[..., object],
        stack: str,
        *,
        detailed: bool,
        monotonic: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        """Prepare the metrics. put_metric_data: a CloudWatch client's method. stack: the dimension of every metric.
        detailed: see Metrics. warn: called with the cause of a failed call."""
        super().__init__()
        self.detailed = detailed
        self._put_metric_data = put_metric_data
        self._of_stack = stack
        self._monotonic = monotonic
        self._warn = warn
        self._lock = Lock()
        self._kept: list[Datum] = []
        self._sent_at = monotonic()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")

    def members(
        self,
        groups: Sequence[Group],
        dimensions: Mapping[str, str],
        values: Mapping[str, Sequence[float]],
        now: float,
    ) -> Mapping[str, object]:
        """Keep the metrics, and send all kept metrics if the minute is over. Return {}, because the log line does not
        get metrics."""
        found = [each for one in groups for each in self._data(one, dimensions, values, now)]
        with self._lock:
            self._kept += found
            is_due = self._monotonic() - self._sent_at >= INTERVAL_SECONDS
        if is_due:
            self._send_kept()
        return {}

    def close(self) -> None:
        self._send_kept()
        self._thread.shutdown()

    def _data(
        self, one: Group, dimensions: Mapping[str, str], values: Mapping[str, Sequence[float]], now: float
    ) -> Iterator[Datum]:
        known = {STACK: self._of_stack, **dimensions}
        for metric in cast("Sequence[Mapping[str, str]]", one["Metrics"]):
            for names in cast("Sequence[Sequence[str]]", one["Dimensions"]):
                yield {
                    "MetricName": metric["Name"],
                    "Dimensions": [{"Name": name, "Value": known[name]} for name in names],
                    "Timestamp": now,
                    "Unit": metric["Unit"],
                    "Values": list(values[metric["Name"]]),
                }

    def _send_kept(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
            self._sent_at = self._monotonic()
        for start in range(0, len(kept), MAX_DATA):
            self._thread.submit(self._send, kept[start : start + MAX_DATA])

    def _send(self, data: Sequence[Datum]) -> None:
        try:
            self._put_metric_data(Namespace=NAMESPACE, MetricData=data)
        except (ClientError, BotoCoreError) as error:
            self._warn(f"{len(data)} metrics were not sent: {error}")
