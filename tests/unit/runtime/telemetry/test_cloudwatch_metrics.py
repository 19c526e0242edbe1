"""Metrics of a process go to CloudWatch once a minute, under the names that the functions' logs give them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from berth.nodecache.feed.watcher import WatcherOutcome
from berth.runtime.telemetry.cloudwatch_metrics import INTERVAL_SECONDS, CloudWatchMetrics
from berth.runtime.telemetry.metrics import measured_call
from berth.runtime.telemetry.telemetry import Telemetry
from berth.runtime.telemetry.watcher_metrics import WatcherMetrics
from tests.fakes.clock import HandDrivenClock

STACK = "berth-production"
DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "not allowed"}}, "PutMetricData")


class RecordingCloudWatch:
    def __init__(self, error: ClientError | None = None) -> None:
        self.calls: list[tuple[str, Sequence[Any]]] = []
        self._error = error

    def put_metric_data(self, *, Namespace: str, MetricData: Sequence[Any]) -> object:  # noqa: N803  boto3's names
        self.calls.append((Namespace, MetricData))
        if self._error is not None:
            raise self._error
        return {}

    @property
    def data(self) -> list[Any]:
        return [each for _, data in self.calls for each in data]


@pytest.fixture
def clock() -> HandDrivenClock:
    return HandDrivenClock()


def metrics_to(
    client: RecordingCloudWatch, clock: HandDrivenClock, warnings: list[str] | None = None, *, detailed: bool = False
) -> CloudWatchMetrics:
    warn = logging.getLogger("unused").warning if warnings is None else warnings.append
    return CloudWatchMetrics(client.put_metric_data, STACK, detailed=detailed, monotonic=clock, warn=warn)


def test_publications_have_the_dimension_used_by_the_alarm(clock: HandDrivenClock) -> None:
    """WatcherNotRunning counts the values of PublishedAge by stack."""
    client = RecordingCloudWatch()
    metrics = metrics_to(client, clock)
    watcher = WatcherMetrics(lambda: 1_000.0, metrics)
    watcher.published(998.0)
    watcher.close()
    metrics.close()
    assert {namespace for namespace, _ in client.calls} == {"Berth"}
    by_name = {each["MetricName"]: each for each in client.data}
    assert by_name["PublishedAge"] == {
        "MetricName": "PublishedAge",
        "Dimensions": [{"Name": "stack", "Value": STACK}],
        "Timestamp": 1_000.0,
        "Unit": "Seconds",
        "Values": [2.0],
    }


def test_sends_once_a_minute_and_keeps_the_time_of_each_value(clock: HandDrivenClock) -> None:
    client = RecordingCloudWatch()
    metrics = metrics_to(client, clock)
    watcher = WatcherMetrics(lambda: 1_000.0 + clock(), metrics)
    started = clock()
    while clock() - started < 10 * INTERVAL_SECONDS:
        watcher.published(1_000.0 + clock())
        clock.advance(0.5)
    watcher.close()
    metrics.close()
    assert 9 <= len(client.calls) <= 11
    publications = [each for each in client.data if each["MetricName"] == "PublishedAge"]
    minutes = {int((each["Timestamp"] - 1_000.0 - started) // 60) for each in publications}
    assert minutes >= set(range(10)), "a minute without a value would count for the alarm"


def test_failed_run_counts_like_a_failed_function(clock: HandDrivenClock) -> None:
    client = RecordingCloudWatch()
    metrics = metrics_to(client, clock)
    telemetry = Telemetry("watcher", metrics)
    with measured_call():
        telemetry.ended(WatcherOutcome.CLUSTER_UNAVAILABLE, pod="", detail="", milliseconds=1.0, failed=True)
    metrics.close()
    [failures] = [each for each in client.data if each["MetricName"] == "Failures"]
    assert failures["Dimensions"] == [{"Name": "stack", "Value": STACK}]


def test_detailed_metrics_have_the_dimensions_of_the_call(clock: HandDrivenClock) -> None:
    client = RecordingCloudWatch()
    metrics = metrics_to(client, clock, detailed=True)
    telemetry = Telemetry("watcher", metrics)
    with measured_call():
        telemetry.ended(WatcherOutcome.HANDED_OVER, pod="", detail="", milliseconds=1.0, failed=False)
    metrics.close()
    calls = [each["Dimensions"] for each in client.data if each["MetricName"] == "Calls"]
    of_stack, of_verb = {"Name": "stack", "Value": STACK}, {"Name": "verb", "Value": "watcher"}
    assert sorted(calls, key=len) == [
        [of_stack, of_verb],
        [of_stack, of_verb, {"Name": "outcome", "Value": WatcherOutcome.HANDED_OVER}],
    ]


def test_refused_call_only_causes_a_warning(clock: HandDrivenClock) -> None:
    client, warnings = RecordingCloudWatch(DENIED), list[str]()
    metrics = metrics_to(client, clock, warnings, detailed=True)
    watcher = WatcherMetrics(lambda: 1_000.0, metrics)
    watcher.published(998.0)
    metrics.close()
    assert len(client.calls) == 1
    [warning] = warnings
    assert warning.startswith("1 metrics were not sent: ")


def test_sends_a_request_only_if_there_are_metrics(clock: HandDrivenClock) -> None:
    client = RecordingCloudWatch()
    metrics_to(client, clock).close()
    assert client.calls == []
