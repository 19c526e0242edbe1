"""Alarms and dashboard as template.yaml has them: on metrics that there are, told to whom it says, and documented."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from berth.authentication.outcomes import AuthorizerOutcome
from berth.extender.outcomes import BindOutcome
from berth.reservations.reconciler.events import ReservationEvent
from berth.runtime.telemetry import cache_metrics, telemetry, watcher_metrics
from tests.conftest import PROJECT
from tests.deployment.template import Deployment, of_type, read_template

ALARM = "AWS::CloudWatch::Alarm"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:pager"
VALUES: dict[str, list[object]] = {
    "stack": [{"Ref": "AWS::StackName"}],
    "verb": ["bind", "authorizer"],
    "outcome": [outcome.value for outcomes in (BindOutcome, AuthorizerOutcome) for outcome in outcomes],
    "happening": [happening.value for happening in ReservationEvent],
}
AWS_METRICS = {
    "AWS/ApiGateway": ({"4xx", "5xx", "Latency"}, [{"Name": "ApiId", "Value": {"Ref": "Api"}}]),
    "AWS/Lambda": ({"Errors"}, [{"Name": "FunctionName", "Value": {"Ref": "WatcherFunction"}}]),
}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def deployed(template: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(template, Authentication="basic", **parameters).resources(ALARM)


def emitted() -> set[tuple[str, tuple[str, ...]]]:
    """Each metric of our own with each set of dimensions that it is seen by."""
    groups: Iterable[Any] = [
        telemetry.CALLS,
        telemetry.SIZES,
        telemetry.FAILURES,
        telemetry.DENIALS,
        cache_metrics.AGE,
        cache_metrics.LAG,
        watcher_metrics.PUBLISHED,
        watcher_metrics.LEADERSHIPS,
        watcher_metrics.RESERVATIONS,
    ]
    return {
        (metric["Name"], tuple(dimensions))
        for group in groups
        for metric in group["Metrics"]
        for dimensions in group["Dimensions"]
    }


@pytest.mark.parametrize("name", of_type(read_template(), ALARM))
def test_an_alarm_looks_at_a_metric_that_there_is(template: dict[str, Any], name: str) -> None:
    alarm = deployed(template)[name]
    if alarm["Namespace"] == "Berth":
        assert (alarm["MetricName"], tuple(each["Name"] for each in alarm["Dimensions"])) in emitted()
        assert all(each["Value"] in VALUES[each["Name"]] for each in alarm["Dimensions"])
    else:
        metrics, dimensions = AWS_METRICS[alarm["Namespace"]]
        assert alarm["MetricName"] in metrics
        assert alarm["Dimensions"] == dimensions


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, [], id="nobody by default"),
        pytest.param({"AlarmTopicArn": TOPIC}, [TOPIC], id="the topic, of the beginning and of the end"),
    ],
)
def test_whom_alarms_tell(template: dict[str, Any], parameters: dict[str, str], told: list[object]) -> None:
    for alarm in deployed(template, **parameters).values():
        assert (alarm["AlarmActions"], alarm["OKActions"]) == (told, told)


def test_silence_is_an_alarm_of_the_watcher_alone_for_the_others_are_fed_by_calls(template: dict[str, Any]) -> None:
    silent = {name for name, alarm in deployed(template).items() if alarm["TreatMissingData"] == "breaching"}
    assert silent == {"WatcherNotRunningAlarm"}


def test_the_watcher_is_missed_before_the_cache_is_older_than_it_may_be_and_not_between_two_starts(
    template: dict[str, Any],
) -> None:
    """Two starts of a periodic watcher can be 119 s apart; maxStaleness is 180 s by default."""
    alarm = deployed(template)["WatcherNotRunningAlarm"]
    assert 119 < alarm["Period"] * alarm["DatapointsToAlarm"] <= 180


def test_a_call_is_slow_at_four_fifths_of_whatever_the_scheduler_waits(template: dict[str, Any]) -> None:
    timeout = template["Parameters"]["HttpTimeoutSeconds"]
    for seconds in range(timeout["MinValue"], timeout["MaxValue"] + 1):
        alarm = deployed(template, HttpTimeoutSeconds=str(seconds))["LatencyAlarm"]
        assert (alarm["ExtendedStatistic"], alarm["Threshold"]) == ("p99", seconds * 800)


def test_a_periodic_watcher_leads_once_a_minute_and_that_is_no_alarm(template: dict[str, Any]) -> None:
    names = {mode: set(deployed(template, WatcherMode=mode)) for mode in ("continuous", "periodic")}
    assert names["continuous"] - names["periodic"] == {"LeaseTransitionsAlarm"}


def test_every_alarm_has_cause_and_remedy_and_every_documented_alarm_is_there(template: dict[str, Any]) -> None:
    _, _, text = (PROJECT / "docs/reference/metrics-and-alarms.md").read_text().partition("## Alarms")
    table, _, metrics = text.partition("## Metrics")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| `")]
    assert all(len(row) == 4 and all(row) for row in rows)
    assert {f"{row[0].strip('`')}Alarm" for row in rows} == of_type(template, ALARM).keys()
    assert {name for name, _ in emitted()} <= {word for line in metrics.splitlines() for word in line.split("`")[1::2]}


def test_two_stacks_in_an_account_have_alarms_of_their_own(template: dict[str, Any]) -> None:
    for logical_id, alarm in of_type(template, ALARM).items():
        assert alarm["AlarmName"] == {"Fn::Sub": f"${{AWS::StackName}}-{logical_id.removesuffix('Alarm')}"}


def widgets(template: dict[str, Any]) -> list[dict[str, Any]]:
    [dashboard] = of_type(template, "AWS::CloudWatch::Dashboard").values()
    found: list[dict[str, Any]] = orjson.loads(dashboard["DashboardBody"]["Fn::Sub"])["widgets"]
    return found


def test_the_dashboard_shows_metrics_that_there_are_and_of_this_stack(template: dict[str, Any]) -> None:
    shown: set[str] = set()
    for widget in widgets(template):
        for metric in widget["properties"].get("metrics", []):
            if isinstance(metric[0], dict):
                search = re.search(
                    r"\{Berth,([\w,]+)\} stack=\"\$\{AWS::StackName\}\" MetricName=\"(\w+)\"", metric[0]["expression"]
                )
                assert search is not None
                name, dimensions = search[2], tuple(search[1].split(","))
            elif metric[0] == "Berth":
                name, dimensions = metric[1], tuple(metric[2:-1:2])
                assert metric[3] == "${AWS::StackName}"
            else:
                continue
            assert (name, dimensions) in emitted()
            shown.add(name)
    assert shown == {name for name, _ in emitted()}


def test_the_dashboard_shows_every_alarm_that_is_there_in_all_modes(template: dict[str, Any]) -> None:
    [shown] = [widget["properties"]["alarms"] for widget in widgets(template) if widget["type"] == "alarm"]
    periodic = deployed(template, WatcherMode="periodic")
    assert {arn.rpartition(":${AWS::StackName}-")[2] for arn in shown} == {
        name.removesuffix("Alarm") for name in periodic
    }


def test_no_widget_covers_another(template: dict[str, Any]) -> None:
    cells = [
        (x, y)
        for widget in widgets(template)
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_the_dashboard_shows_every_function_that_is_always_there(template: dict[str, Any]) -> None:
    functions = Deployment(template, Authentication="basic").resources("AWS::Serverless::Function")
    for title in ("Errors", "Throttles", "Concurrent executions"):
        [widget] = [each for each in widgets(template) if each["properties"]["title"] == title]
        assert [metric[3] for metric in widget["properties"]["metrics"]] == [f"${{{name}}}" for name in functions]
