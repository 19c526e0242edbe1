"""Alarms and dashboard of template.yaml: emitted metrics, notifications, and documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from berth.authentication.outcomes import AuthorizerOutcome
from berth.extender.outcomes import BindOutcome
from berth.runtime.telemetry import metrics, telemetry, watcher_metrics
from berth.runtime.watcher import scheduler_access
from berth.upkeep.reconciler.events import ReservationEvent, ReservationEventType
from tests.conftest import PROJECT
from tests.deployment.alarms import metric_of
from tests.deployment.template import Deployment, of_type, read_template

ALARM = "AWS::CloudWatch::Alarm"
DOMAIN = {"DomainName": "berth.example.com"}
TOPIC = "arn:aws:sns:eu-central-1:123456789012:pager"
VALUES: dict[str, list[object]] = {
    "stack": [{"Ref": "AWS::StackName"}],
    "verb": ["bind", "authorizer"],
    "outcome": [outcome.value for outcomes in (BindOutcome, AuthorizerOutcome) for outcome in outcomes],
    "happening": [event.value for event in ReservationEventType],
}
AWS_METRICS = {
    "AWS/ApiGateway": ({"4xx", "5xx", "Count"}, [{"Name": "ApiId", "Value": {"Ref": "Api"}}]),
    "AWS/Lambda": ({"Errors"}, [{"Name": "FunctionName", "Value": {"Ref": "WatcherFunction"}}]),
}


def deployed(template: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(template, Authentication="mtls", **DOMAIN, **parameters).resources(ALARM)


def emitted(*, detailed: bool = True) -> set[tuple[str, tuple[str, ...]]]:
    """Return each of Berth's metrics with each of its sets of dimensions."""
    groups: Iterable[Any] = [
        telemetry.CALLS_IN_DETAIL if detailed else telemetry.ALARMED_CALLS,
        metrics.FAILURES,
        metrics.SLOW_CALLS,
        metrics.CACHE_AGE,
        watcher_metrics.PUBLISHED,
        watcher_metrics.RESERVATIONS,
        scheduler_access.UNDECIDED_AGE,
        scheduler_access.CERTIFICATES,
    ]
    return {
        (metric["Name"], tuple(dimensions))
        for group in groups
        for metric in group["Metrics"]
        for dimensions in group["Dimensions"]
    }


@pytest.mark.parametrize("name", of_type(read_template(), ALARM))
def test_every_alarm_uses_an_emitted_metric(template: dict[str, Any], name: str) -> None:
    alarm = metric_of(deployed(template, DetailedMetrics="true")[name])
    if alarm["Namespace"] == "Berth":
        assert (alarm["MetricName"], tuple(each["Name"] for each in alarm["Dimensions"])) in emitted()
        assert all(each["Value"] in VALUES[each["Name"]] for each in alarm["Dimensions"])
    else:
        metrics, dimensions = AWS_METRICS[alarm["Namespace"]]
        assert alarm["MetricName"] in metrics
        assert alarm["Dimensions"] == dimensions


@pytest.mark.parametrize(
    ("parameters", "notified"),
    [
        pytest.param({}, [], id="no topic by default"),
        pytest.param({"AlarmTopicArn": TOPIC}, [TOPIC], id="topic for start and end"),
    ],
)
def test_alarms_notify_the_topic_if_given(
    template: dict[str, Any], parameters: dict[str, str], notified: list[object]
) -> None:
    for alarm in deployed(template, **parameters).values():
        assert (alarm["AlarmActions"], alarm["OKActions"]) == (notified, notified)


def test_missing_data_fires_only_the_alarm_of_the_watcher(template: dict[str, Any]) -> None:
    silent = {name for name, alarm in deployed(template).items() if alarm["TreatMissingData"] == "breaching"}
    assert silent == {"WatcherNotRunningAlarm"}


def test_watcher_alarm_fires_before_max_staleness_and_after_two_periodic_starts(template: dict[str, Any]) -> None:
    """Two starts of a periodic watcher can be 119 s apart; maxStaleness is 180 s by default."""
    alarm = deployed(template)["WatcherNotRunningAlarm"]
    assert 119 < metric_of(alarm)["Period"] * alarm["DatapointsToAlarm"] <= 180


def test_template_has_twelve_alarms_by_default(template: dict[str, Any]) -> None:
    """Each alarm costs money: docs/reference/cost.md. tests/unit/runtime/telemetry counts the metrics."""
    by_default, in_detail = deployed(template), deployed(template, DetailedMetrics="true")
    assert len(by_default) == 12
    basic = Deployment(template, Authentication="basic").resources(ALARM)
    assert by_default.keys() - basic.keys() == {"CertificateExpiryAlarm"}
    assert in_detail.keys() - by_default.keys() == {"LedgerContentionAlarm", "WatcherErrorsAlarm"}


def test_default_alarms_do_not_need_detailed_metrics(template: dict[str, Any]) -> None:
    values = {*telemetry.ALARMED_OUTCOMES, *watcher_metrics.ALARMED_EVENTS, "bind"}
    for alarm in map(metric_of, deployed(template).values()):
        if alarm["Namespace"] == "Berth":
            assert (alarm["MetricName"], tuple(each["Name"] for each in alarm["Dimensions"])) in emitted(detailed=False)
            assert {each["Value"] for each in alarm["Dimensions"] if each["Name"] != "stack"} <= values


def test_every_emitted_metric_is_documented() -> None:
    _, _, metrics = (PROJECT / "docs/reference/metrics-and-alarms.md").read_text().partition("## Metrics")
    assert {name for name, _ in emitted()} <= {word for line in metrics.splitlines() for word in line.split("`")[1::2]}


def test_every_alarm_has_a_section_in_the_on_call_page(template: dict[str, Any]) -> None:
    page = (PROJECT / "docs/how-to/on-call.md").read_text()
    assert {f"{name}Alarm" for name in re.findall(r"^## (\w+)$", page, re.M)} == of_type(template, ALARM).keys()


def test_log_lines_contain_the_search_terms_of_the_on_call_page() -> None:
    page = (PROJECT / "docs/how-to/on-call.md").read_text()
    terms = [each.strip() for each in re.findall(r"""^\$ logs '?"?(\w[\w ]+)""", page, re.M)]
    code = "".join(file.read_text() for file in (PROJECT / "layers/scheduling/berth").rglob("*.py"))
    events = "".join(str(ReservationEvent(each, "n1")) for each in ReservationEventType)
    of_lambda = '"type": "platform.report", "record": {"metrics": {"maxMemoryUsedMB": 1}, "status": "success"}'
    assert len(terms) > 5
    assert [each for each in terms if each not in code + events + of_lambda] == []


def widgets(template: dict[str, Any]) -> list[dict[str, Any]]:
    [dashboard] = of_type(template, "AWS::CloudWatch::Dashboard").values()
    body, variables = dashboard["DashboardBody"]["Fn::Sub"]
    separator, functions = Deployment(template, Authentication="basic").value(variables)["Functions"]["Fn::Join"]
    body = body.replace("${Functions}", separator.join(each["Ref"] for each in functions))
    found: list[dict[str, Any]] = orjson.loads(body)["widgets"]
    return found


def test_dashboard_shows_every_metric_this_stack_emits(template: dict[str, Any]) -> None:
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
