"""Alarms of the template, evaluated according to the tables of CloudWatch's documentation.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

from __future__ import annotations

from typing import Any

from tests.deployment.alarms import MINUTE, Alarm, Metrics, states
from tests.deployment.template import Deployment, read_template

ALARMS: dict[str, dict[str, Any]] = Deployment(read_template(), Authentication="mtls").resources(
    "AWS::CloudWatch::Alarm"
)
NAMES = {"AWS::StackName": "berth", "Api": "api"}


def test_watcher_alarm_is_on_after_three_minutes_without_publication() -> None:
    """Without FILL, the alarm would be on only after five minutes, when the data is older than maxStaleness."""
    metrics = Metrics()
    for minute in range(10):
        metrics.add("Berth", "PublishedAge", {"stack": "berth"}, minute * MINUTE + 7, [1.0])
    found = list(states(Alarm(ALARMS["WatcherNotRunningAlarm"], NAMES), metrics, range(20)))
    assert found.index(True) == 12


def test_metrics_of_a_log_line_count_in_the_minute_of_its_timestamp() -> None:
    """The alarm needs values in three of five minutes, and stays on while the three are among the last seven."""
    group = {"Namespace": "Berth", "Dimensions": [["stack"]], "Metrics": [{"Name": "Failures", "Unit": "Count"}]}
    metrics = Metrics()
    for minute in range(3):
        line = {"_aws": {"Timestamp": minute * 60_000, "CloudWatchMetrics": [group]}, "stack": "berth"}
        metrics.add_line({**line, "Failures": [1.0]})
    metrics.add_line({"message": "no metrics"})
    assert list(states(Alarm(ALARMS["FailuresAlarm"], NAMES), metrics, range(8))) == [
        *(False, False),
        *(True, True, True, True, True),
        False,
    ]


def test_period_of_five_minutes_is_evaluated_every_minute() -> None:
    metrics = Metrics()
    for minute in range(3):
        metrics.add("AWS/ApiGateway", "4xx", {"ApiId": "api"}, minute * MINUTE, [1.0, 1.0])
    assert list(states(Alarm(ALARMS["ApiRefusalsAlarm"], NAMES), metrics, range(6))) == [
        *(False, False),
        *(True, True, True),
        False,
    ]
