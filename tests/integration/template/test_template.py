"""template.yaml as it is written: functions, routes, schedule and tables."""

from __future__ import annotations

import re
from typing import Any

import pytest

from berth.runtime.cluster_settings import BindSettings, WatcherSettings
from berth.runtime.environment import Settings
from berth.runtime.http.authorizer_endpoint import AuthorizerSettings
from berth.runtime.http.endpoint import EndpointSettings
from berth.runtime.pre_traffic import PreTrafficSettings
from berth.runtime.settings import PolicySettings
from tests.deployment.template import TEMPLATE, Deployment, of_type
from tests.deployment.transform import transformed

PROJECT = TEMPLATE.parent
TABLE = "AWS::DynamoDB::Table"

VERBS = {
    "FilterFunction": "filter",
    "FilterOnlyOneFunction": "filter_onlyone",
    "PrioritizeFunction": "prioritize",
    "BindFunction": "bind",
    "PreemptFunction": "preempt",
}
FUNCTIONS = {
    **VERBS,
    "WatcherFunction": "watcher",
    "HealthzFunction": "healthz",
    "AuthorizerFunction": "authorizer",
    "PreTrafficFunction": "pre_traffic",
}

SWITCHES = {"BERTH_WATCHER_MODE": "periodic", "BERTH_WATCHER_STANDBY": "true", "BERTH_AUTHENTICATION": "mtls"}


@pytest.fixture(scope="module")
def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(template, "AWS::Serverless::Function")


def test_every_function_folder_is_in_the_template(functions: dict[str, dict[str, Any]]) -> None:
    folders = {handler.parent.name for handler in PROJECT.glob("functions/*/app.py")}
    assert {name: properties["CodeUri"] for name, properties in functions.items()} == {
        name: f"functions/{folder}" for name, folder in FUNCTIONS.items()
    }
    assert folders == set(FUNCTIONS.values())


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        ("FilterFunction", [PolicySettings, EndpointSettings]),
        ("FilterOnlyOneFunction", [PolicySettings, EndpointSettings]),
        ("PrioritizeFunction", [PolicySettings, EndpointSettings]),
        ("BindFunction", [BindSettings, EndpointSettings]),
        ("PreemptFunction", [PolicySettings, EndpointSettings]),
        ("WatcherFunction", [WatcherSettings]),
        ("HealthzFunction", [PolicySettings, EndpointSettings]),
        ("AuthorizerFunction", [AuthorizerSettings]),
        ("PreTrafficFunction", [PreTrafficSettings]),
    ],
)
def test_environment_matches_function_settings(
    functions: dict[str, dict[str, Any]], function: str, settings: list[type[Settings]]
) -> None:
    variables = set(functions[function]["Environment"]["Variables"])
    assert variables <= {name for each in settings for found in each.variables().values() for name in found.names}
    given = variables - {"BERTH_CONFIGURATION", "BERTH_EKS_CLUSTER"}
    switches = SWITCHES | ({"BERTH_AUTHENTICATION": "basic"} if function == "AuthorizerFunction" else {})
    for each in settings:
        each.from_environ(dict.fromkeys(given, "2") | {name: switches[name] for name in given & set(switches)})


def test_every_log_group_has_a_retention_period(template: dict[str, Any], functions: dict[str, dict[str, Any]]) -> None:
    groups = of_type(template, "AWS::Logs::LogGroup")
    assert [group["RetentionInDays"] for group in groups.values()] == [30] * 2
    assert template["Globals"]["Function"]["LoggingConfig"]["LogGroup"]["Ref"] in groups
    assert not any("LoggingConfig" in function for function in functions.values())


@pytest.mark.parametrize(
    ("function", "route"),
    [*((function, f"POST /scheduler/{verb}") for function, verb in VERBS.items()), ("HealthzFunction", "GET /healthz")],
)
def test_route_invokes_the_live_alias(template: dict[str, Any], function: str, route: str) -> None:
    [integration] = [
        logical_id
        for logical_id, properties in of_type(template, "AWS::ApiGatewayV2::Integration").items()
        if properties["IntegrationUri"] == {"Fn::Sub": f"${{{function}.Arn}}:live"}
    ]
    [properties] = [
        properties
        for properties in of_type(template, "AWS::ApiGatewayV2::Route").values()
        if properties["Target"] == {"Fn::Sub": f"integrations/${{{integration}}}"}
    ]
    assert properties["RouteKey"] == route


@pytest.mark.parametrize("function", [*VERBS, "HealthzFunction"])
def test_api_may_invoke_each_function_only_on_its_own_route(template: dict[str, Any], function: str) -> None:
    [permission] = [
        properties
        for properties in of_type(template, "AWS::Lambda::Permission").values()
        if properties["FunctionName"] == {"Ref": f"{function}.Alias"}
    ]
    route = "GET/healthz" if function == "HealthzFunction" else f"POST/scheduler/{VERBS[function]}"
    assert permission["SourceArn"]["Fn::Sub"].endswith(f":${{Api}}/*/{route}")


def test_routes_have_the_form_that_sam_local_reads(
    template: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    order = list(template["Resources"])
    assert order.index("Api") < order.index(next(iter(functions)))
    for route in of_type(template, "AWS::ApiGatewayV2::Route").values():
        # sam local reads the authorizer unless samconfig.toml disables that.
        assert "Fn::If" not in str({**route, "AuthorizationType": "", "AuthorizerId": ""})


def test_schedule_starts_the_watcher_every_minute_without_retries(
    template: dict[str, Any], functions: dict[str, dict[str, Any]]
) -> None:
    once = {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}
    watcher = functions["WatcherFunction"]
    [event] = watcher["Events"].values()
    assert event["Type"] == "ScheduleV2"
    assert event["Properties"] == {
        "RoleArn": {"Fn::GetAtt": "WatcherScheduleRole.Arn"},
        "ScheduleExpression": "rate(1 minute)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "OmitName": True,
        "RetryPolicy": once,
    }
    assert template["Globals"]["Function"]["EventInvokeConfig"] == once


def test_schedule_role_may_only_invoke_the_watcher() -> None:
    """https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html"""
    role = of_type(transformed(), "AWS::IAM::Role")["WatcherScheduleRole"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    [policy] = role["Policies"]
    [statement] = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "lambda:InvokeFunction"
    assert statement["Resource"] == {"Ref": "WatcherFunctionAliaslive"}
    assert "ManagedPolicyArns" not in role


def test_cache_table_is_deleted_with_the_stack(template: dict[str, Any]) -> None:
    table = template["Resources"]["CacheTable"]
    assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Delete"
    assert Deployment(template).resources(TABLE)["CacheTable"] == {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "TimeToLiveSpecification": {"AttributeName": "expiresAt", "Enabled": True},
    }


def test_layer_build_defaults_match_the_template(template: dict[str, Any]) -> None:
    defaults = dict(re.findall(r"^(BERTH_\w+) \?= ([\w.]+)$", (PROJECT / "layers/layer.mk").read_text(), re.MULTILINE))
    assert defaults["BERTH_ARCHITECTURE"] == template["Parameters"]["Architecture"]["Default"]
    assert f"python{defaults['BERTH_PYTHON_VERSION']}" == template["Globals"]["Function"]["Runtime"]
