"""WatcherMode external: a stack without a watcher function, for `berth watch`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.deployment.permissions import GRANTS
from tests.deployment.template import Deployment, read_template
from tests.deployment.transform import transformed

FUNCTION_ONLY = {"secretsmanager:GetSecretValue"}
"""Actions that only the function needs: the pod has its service account instead of a secret."""
PROCESS_ONLY = {"cloudwatch:PutMetricData", "cloudformation:DescribeStacks"}


def deployed(mode: str, **parameters: str) -> Deployment:
    return Deployment(transformed(), Authentication="basic", WatcherMode=mode, **parameters)


def created(mode: str, **parameters: str) -> set[str]:
    kinds = {resource["Type"] for resource in transformed()["Resources"].values()}
    return {name for kind in kinds for name in deployed(mode, **parameters).resources(kind)}


@pytest.mark.parametrize("detailed", ["false", "true"])
def test_external_mode_does_not_create_any_part_of_the_watcher_function(detailed: str) -> None:
    inside, outside = created("continuous", DetailedMetrics=detailed), created("external", DetailedMetrics=detailed)
    assert outside - inside == {"WatcherPolicy"}
    missing = inside - outside
    assert missing >= {"WatcherFunction", "WatcherFunctionRole", "WatcherScheduleRole"}
    assert {"WatcherFunctionEveryMinute", "WatcherFunctionAliaslive"} <= missing
    assert all(name.startswith("Watcher") for name in missing), missing


@pytest.mark.parametrize("detailed", ["false", "true"])
def test_external_stack_does_not_refer_to_missing_resources(detailed: str) -> None:
    there = created("external", DetailedMetrics=detailed)
    missing = set(transformed()["Resources"]) - there
    found = deployed("external", DetailedMetrics=detailed)
    kinds = {resource["Type"] for resource in transformed()["Resources"].values()}
    values = [found.outputs(), *(found.resources(kind) for kind in kinds)]
    for name in missing & {"WatcherFunction", "WatcherFunctionRole", "WatcherScheduleRole"}:
        for value in values:
            text = json.dumps(value)
            assert f'"Ref": "{name}"' not in text
            assert f'"Fn::GetAtt": ["{name}"' not in text
            assert f'"Fn::GetAtt": "{name}.' not in text


def test_every_mode_has_the_alarm_for_a_watcher_that_is_not_running() -> None:
    """berth watch sends the metric, PublishedAge by stack, itself."""
    for mode in read_template()["Parameters"]["WatcherMode"]["AllowedValues"]:
        assert "WatcherNotRunningAlarm" in deployed(mode).resources("AWS::CloudWatch::Alarm")


def policy() -> dict[str, Any]:
    return deployed("external").resources("AWS::IAM::ManagedPolicy")["WatcherPolicy"]


def actions(statements: list[dict[str, Any]]) -> set[str]:
    found = [each["Action"] for each in statements]
    return {action for each in found for action in ([each] if isinstance(each, str) else each)}


def test_process_policy_grants_the_same_table_and_function_access_as_the_role() -> None:
    role = deployed("continuous").resources("AWS::IAM::Role")["WatcherFunctionRole"]
    of_function = [
        statement
        for each in role["Policies"]
        for statement in each["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    of_process = policy()["PolicyDocument"]["Statement"]
    assert len(of_function) == len(GRANTS["WatcherFunction"])
    assert [each for each in of_process if not actions([each]) & PROCESS_ONLY] == [
        each for each in of_function if not actions([each]) & FUNCTION_ONLY
    ]
    assert actions(of_process) - actions(of_function) == PROCESS_ONLY


def test_process_may_write_metrics_of_one_namespace_and_describe_one_stack() -> None:
    by_action = {next(iter(actions([each]))): each for each in policy()["PolicyDocument"]["Statement"]}
    assert by_action["cloudwatch:PutMetricData"]["Condition"] == {"StringEquals": {"cloudwatch:namespace": "Berth"}}
    described = by_action["cloudformation:DescribeStacks"]["Resource"]["Fn::Sub"]
    assert described.endswith(":stack/${AWS::StackName}/*")
