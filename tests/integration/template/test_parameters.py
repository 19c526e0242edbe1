"""Parameters of template.yaml, and the resources that follow from them.

The emulator enforces neither concurrency nor throttling, boundaries nor keys, so the tests check these on the template
only.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from tests.deployment.template import KUBECONFIGS, REQUIRED, Deployment, read_template
from tests.deployment.transform import transformed

BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"
PLUGIN_LAYER = "arn:aws:lambda:eu-central-1:123456789012:layer:plugins:3"
PARAMETERS = read_template()["Parameters"]
VERBS = ("FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction")
AUTHORIZER_SECONDS = 10
"""How many seconds an HTTP API waits for an authorizer."""
FREE = {"DomainName"}
"""Parameters without a pattern, because the operator defines the value."""


def functions(template: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    deployment = Deployment(template, Authentication="basic", **parameters)
    everywhere = deployment.value(template["Globals"]["Function"])
    return {
        name: everywhere | properties for name, properties in deployment.resources("AWS::Serverless::Function").items()
    }


def schedule_role(**parameters: str) -> dict[str, Any]:
    roles = Deployment(transformed(), Authentication="basic", **parameters).resources("AWS::IAM::Role")
    return roles["WatcherScheduleRole"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_has_description_constraint_and_valid_default(name: str) -> None:
    parameter = PARAMETERS[name]
    assert parameter["Description"]
    assert "Default" in parameter or name in REQUIRED
    assert name in FREE or parameter.keys() & {"AllowedValues", "AllowedPattern", "MinValue"}
    if "AllowedPattern" in parameter:
        assert re.fullmatch(parameter["AllowedPattern"], parameter["Default"])
    if "AllowedValues" in parameter and "Default" in parameter:
        assert parameter["Default"] in parameter["AllowedValues"]
    if "MinValue" in parameter:
        assert parameter["MinValue"] <= parameter["Default"] <= parameter["MaxValue"]


def test_access_log_does_not_contain_credentials(template: dict[str, Any]) -> None:
    deployment = Deployment(template, Authentication="basic")
    [stage] = deployment.resources("AWS::ApiGatewayV2::Stage").values()
    fields = orjson.loads(stage["AccessLogSettings"]["Format"])
    assert set(fields.values()) == {
        "$context.requestId",
        "$context.requestTime",
        "$context.identity.sourceIp",
        "$context.identity.clientCert.serialNumber",
        "$context.routeKey",
        "$context.status",
        "$context.responseLength",
        "$context.responseLatency",
        "$context.integrationLatency",
        "$context.integrationStatus",
        "$context.error.responseType",
        "$context.error.message",
        "$context.integrationErrorMessage",
        "$context.authorizer.error",
    }
    assert "\n" not in stage["AccessLogSettings"]["Format"]
    assert deployment.resources("AWS::Logs::LogGroup")["AccessLogGroup"]["RetentionInDays"] == 30


@pytest.mark.parametrize(
    ("parameters", "boundary"),
    [
        pytest.param({}, None, id="no boundary by default"),
        pytest.param({"PermissionsBoundaryArn": BOUNDARY}, BOUNDARY, id="given boundary"),
    ],
)
def test_permissions_boundary_applies_to_every_role(
    template: dict[str, Any], parameters: dict[str, str], boundary: str | None
) -> None:
    found = functions(template, **parameters)
    assert {properties.get("PermissionsBoundary") for properties in found.values()} == {boundary}
    assert schedule_role(**parameters).get("PermissionsBoundary") == boundary


def test_tables_use_the_customer_managed_key_if_one_is_given(template: dict[str, Any]) -> None:
    own = Deployment(template).resources("AWS::DynamoDB::Table")
    given = Deployment(template, KeyArn=KEY).resources("AWS::DynamoDB::Table")
    assert own.keys() == given.keys() == {"CacheTable", "LedgerTable"}
    assert all("SSESpecification" not in table for table in own.values())
    specification = {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert all(table["SSESpecification"] == specification for table in given.values())


def test_only_functions_with_table_access_may_use_the_key(template: dict[str, Any]) -> None:
    key = {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:DescribeKey"],
        "Resource": KEY,
        "Condition": {"StringEquals": {"kms:ViaService": {"Fn::Sub": "dynamodb.${AWS::Region}.${AWS::URLSuffix}"}}},
    }
    for given in (KEY, ""):
        for properties in functions(template, KeyArn=given).values():
            statements = [statement for policy in properties["Policies"] for statement in policy["Statement"]]
            on_a_table = any("Table.Arn" in str(statement["Resource"]) for statement in statements)
            on_tables = [each for each in statements if "kms" in str(each) and "dynamodb." in str(each)]
            assert on_tables == ([key] if given and on_a_table else [])


@pytest.mark.parametrize("function", ["BindFunction", "WatcherFunction"])
def test_function_with_a_kubeconfig_may_decrypt_only_its_own_secret(template: dict[str, Any], function: str) -> None:
    secret = KUBECONFIGS[f"{'Binder' if function == 'BindFunction' else 'Watcher'}KubeconfigSecretArn"]
    for given in (KEY, ""):
        policies = functions(template, KeyArn=given)[function]["Policies"]
        statements = [each for policy in policies for each in policy["Statement"] if "EncryptionContext" in str(each)]
        via = {"Fn::Sub": "secretsmanager.${AWS::Region}.${AWS::URLSuffix}"}
        condition = {"StringEquals": {"kms:ViaService": via, "kms:EncryptionContext:SecretARN": secret}}
        expected = {"Effect": "Allow", "Action": "kms:Decrypt", "Resource": KEY, "Condition": condition}
        assert statements == ([expected] if given else [])


@pytest.mark.parametrize(
    ("cluster", "users"),
    [
        pytest.param({}, {"BindFunction", "WatcherFunction"}, id="kubeconfig secrets"),
        pytest.param({"EksCluster": "c,https://c,c"}, set(), id="EKS"),
    ],
)
def test_only_functions_with_a_kubeconfig_use_its_key(
    template: dict[str, Any], cluster: dict[str, str], users: set[str]
) -> None:
    found = functions(template, KeyArn=KEY, **cluster).items()
    assert {name for name, each in found if "secretsmanager.${AWS::Region}" in str(each["Policies"])} == users


@pytest.mark.parametrize(
    ("parameters", "seconds"),
    [
        pytest.param({"ClusterSize": "small"}, "5", id="small"),
        pytest.param({}, "5", id="medium is the default"),
        pytest.param({"ClusterSize": "large"}, "10", id="large"),
        pytest.param({"ClusterSize": "large", "HttpTimeoutSeconds": "20"}, "20", id="a given timeout"),
    ],
)
def test_http_timeout_depends_on_the_cluster_size(
    template: dict[str, Any], parameters: dict[str, str], seconds: str
) -> None:
    deployment = Deployment(template, Authentication="basic", **parameters)
    found = deployment.resources("AWS::Serverless::Function")
    given = {
        found[name]["Environment"]["Variables"]["BERTH_HTTP_TIMEOUT"] for name in ("BindFunction", "WatcherFunction")
    }
    assert {str(each) for each in given} == {seconds} == {str(deployment.outputs()["HttpTimeoutSeconds"])}


@pytest.mark.parametrize(
    ("given", "reserved"),
    [
        pytest.param("0", {}, id="none by default, for an account with a quota of 10"),
        pytest.param(
            "200",
            {**dict.fromkeys((*VERBS, "AuthorizerFunction"), 10), "BindFunction": "200", "WatcherFunction": 3},
            id="the verbs, the authorizer and the watcher",
        ),
    ],
)
def test_one_parameter_reserves_concurrency_for_verbs_authorizer_and_watcher(
    template: dict[str, Any], given: str, reserved: dict[str, object]
) -> None:
    found = {
        name: each.get("ReservedConcurrentExecutions")
        for name, each in functions(template, ReservedConcurrency=given).items()
    }
    assert {name: value for name, value in found.items() if value is not None} == reserved


@pytest.mark.parametrize("seconds", sorted(set(PARAMETERS["HttpTimeoutSeconds"]["AllowedValues"]) - {0}))
def test_functions_do_not_time_out_before_the_scheduler(template: dict[str, Any], seconds: int) -> None:
    found = functions(template, HttpTimeoutSeconds=str(seconds))
    assert min(found[name]["Timeout"] for name in VERBS) >= seconds
    assert found["AuthorizerFunction"]["Timeout"] >= min(seconds, AUTHORIZER_SECONDS)


def test_system_log_level_is_info_only_with_detailed_metrics(template: dict[str, Any]) -> None:
    for detailed, level in (("false", "WARN"), ("true", "INFO")):
        logging = Deployment(template, DetailedMetrics=detailed).value(template["Globals"]["Function"]["LoggingConfig"])
        assert logging == {
            "LogFormat": "JSON",
            "ApplicationLogLevel": "DEBUG",
            "SystemLogLevel": level,
            "LogGroup": {"Ref": "FunctionLogGroup"},
        }


@pytest.mark.parametrize("size", read_template()["Parameters"]["ClusterSize"]["AllowedValues"])
def test_every_environment_variable_is_a_string(size: str) -> None:
    """A number in a mapping stays a number, and the environment of a process accepts only strings."""
    deployed = Deployment(transformed(), Authentication="basic", ClusterSize=size)
    for name, function in deployed.resources("AWS::Lambda::Function").items():
        numbers = {key for key, value in function["Environment"]["Variables"].items() if isinstance(value, int | float)}
        assert numbers == set(), name


@pytest.mark.parametrize("given", ["", PLUGIN_LAYER])
def test_functions_that_load_a_configuration_have_the_plugin_layer(template: dict[str, Any], given: str) -> None:
    """The authorizer reads the password, so no custom code runs beside it."""
    found = functions(template, PluginLayerArn=given, DeploymentPreference="Canary10Percent10Minutes")
    with_layer = {name for name, properties in found.items() if PLUGIN_LAYER in properties["Layers"]}
    loading = {name for name, each in found.items() if "BERTH_CONFIGURATION" in each["Environment"]["Variables"]}
    assert with_layer == (loading if given else set())
    assert found.keys() - loading == {"AuthorizerFunction", "PreTrafficFunction"}


@pytest.mark.parametrize(
    ("mode", "variables"),
    [
        ("continuous", ("continuous", "false")),
        ("continuous-with-standby", ("continuous", "true")),
        ("periodic", ("periodic", "false")),
    ],
)
def test_parameter_sets_the_watcher_mode(template: dict[str, Any], mode: str, variables: tuple[str, str]) -> None:
    found = functions(template, WatcherMode=mode)["WatcherFunction"]["Environment"]["Variables"]
    assert (found["BERTH_WATCHER_MODE"], found["BERTH_WATCHER_STANDBY"]) == variables
