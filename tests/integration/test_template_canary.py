"""How new versions of the verbs take over (DeploymentPreference), in the template as CloudFormation gets it.

The emulator has no CodeDeploy: what is on is asserted here, and has run nowhere.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

import pytest

from tests.deployment.template import Deployment, of_type, read_template
from tests.deployment.transform import transformed, waits_for

VERBS = ["FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction"]
AT_ONCE = ["WatcherFunction", "HealthzFunction", "AuthorizerFunction"]
CANARY = "Canary10Percent10Minutes"
GROUP = "AWS::CodeDeploy::DeploymentGroup"
CHOICES = read_template()["Parameters"]["DeploymentPreference"]["AllowedValues"]


def made(processed: dict[str, Any], kind: str, preference: str) -> dict[str, dict[str, Any]]:
    return Deployment(processed, Authentication="basic", DeploymentPreference=preference).resources(kind)


def test_by_default_there_is_nothing_of_codedeploy_and_no_hook() -> None:
    processed = transformed()
    assert [each["Type"] for each in processed["Resources"].values() if "CodeDeploy" in each["Type"]] == []
    assert all("UpdatePolicy" not in resource for resource in processed["Resources"].values())
    roles = made(processed, "AWS::IAM::Role", "AllAtOnce")
    assert {"DeploymentRole", "PreTrafficFunctionRole"} & roles.keys() == set()
    for kind in ("Function", "Version", "Alias", "EventInvokeConfig"):
        assert not any("PreTraffic" in name for name in made(processed, f"AWS::Lambda::{kind}", "AllAtOnce"))
    assert "PreTrafficLogGroup" not in made(processed, "AWS::Logs::LogGroup", "AllAtOnce")


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice != "AllAtOnce"])
def test_each_choice_is_a_deployment_configuration_of_codedeploy(choice: str) -> None:
    mapped = read_template()["Mappings"]["Deployments"]
    assert list(mapped) == CHOICES
    groups = made(transformed(DeploymentPreference=choice), GROUP, choice).values()
    names = [group["DeploymentConfigName"]["Fn::Sub"] for group in groups]
    assert names == [["CodeDeployDefault.Lambda${ConfigName}", {"ConfigName": choice}]] * len(VERBS)


def test_the_verbs_aliases_are_moved_by_codedeploy_after_the_hook_and_no_other_is() -> None:
    processed = transformed(DeploymentPreference=CANARY)
    deployment = Deployment(processed, Authentication="basic", DeploymentPreference=CANARY)
    aliases = {
        name.removesuffix("Aliaslive"): deployment.value(resource.get("UpdatePolicy"))
        for name, resource in processed["Resources"].items()
        if resource["Type"] == "AWS::Lambda::Alias"
    }
    assert {name: policy for name, policy in aliases.items() if policy is not None} == {
        verb: {
            "CodeDeployLambdaAliasUpdate": {
                "ApplicationName": {"Ref": "ServerlessDeploymentApplication"},
                "DeploymentGroupName": {"Ref": f"{verb}DeploymentGroup"},
                "BeforeAllowTrafficHook": {"Ref": "PreTrafficFunction"},
            }
        }
        for verb in VERBS
    }
    assert set(AT_ONCE) < aliases.keys()


def test_what_alarms_take_a_verb_back_is_what_its_new_version_can_cause() -> None:
    """CacheStale and WatcherNotRunning are the watcher's, Denials the callers'."""
    alarms = ["FailuresAlarm", "ApiErrorsAlarm", "LatencyAlarm", "LedgerUnavailableAlarm"]
    for group in made(transformed(DeploymentPreference=CANARY), GROUP, CANARY).values():
        assert group["AlarmConfiguration"] == {"Enabled": True, "Alarms": [{"Name": {"Ref": name}} for name in alarms]}
        assert group["AutoRollbackConfiguration"] == {
            "Enabled": True,
            "Events": ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"],
        }
        assert group["ServiceRoleArn"] == {"Fn::GetAtt": "DeploymentRole.Arn"}


def test_an_alarm_can_go_off_while_the_shortest_canary_lasts() -> None:
    alarms = of_type(read_template(), "AWS::CloudWatch::Alarm")
    for name in ("FailuresAlarm", "ApiErrorsAlarm", "LatencyAlarm", "LedgerUnavailableAlarm"):
        assert alarms[name]["Period"] * alarms[name]["DatapointsToAlarm"] < 5 * 60


def test_codedeploy_may_move_the_verbs_aliases_and_ask_the_hook_and_no_more() -> None:
    processed = transformed(DeploymentPreference=CANARY)
    role = made(processed, "AWS::IAM::Role", CANARY)["DeploymentRole"]
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    assert "ManagedPolicyArns" not in role
    [policy] = role["Policies"]
    moves, asks, looks = policy["PolicyDocument"]["Statement"]
    assert moves["Action"] == ["lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig"]
    assert moves["Resource"] == [
        each for verb in VERBS for each in ({"Fn::GetAtt": f"{verb}.Arn"}, {"Fn::Sub": f"${{{verb}.Arn}}:*"})
    ]
    assert (asks["Action"], asks["Resource"]) == (
        "lambda:InvokeFunction",
        {"Fn::GetAtt": "PreTrafficFunction.Arn"},
    )
    assert (looks["Action"], looks["Resource"]) == ("cloudwatch:DescribeAlarms", "*")


@pytest.mark.parametrize(
    ("parameters", "path", "boundary"),
    [
        pytest.param({}, "/", None, id="none"),
        pytest.param(
            {"RolePath": "/berth/", "PermissionsBoundaryArn": "arn:aws:iam::123456789012:policy/b"},
            "/berth/",
            "arn:aws:iam::123456789012:policy/b",
            id="the account's",
        ),
    ],
)
def test_its_role_has_the_path_and_the_boundary_that_all_have(
    parameters: dict[str, str], path: str, boundary: str | None
) -> None:
    deployment = Deployment(
        read_template(), Authentication="basic", DeploymentPreference=CANARY, **parameters
    ).resources("AWS::IAM::Role")["DeploymentRole"]
    assert (deployment["Path"], deployment.get("PermissionsBoundary")) == (path, boundary)


def test_the_hook_may_ask_the_verbs_versions_and_report() -> None:
    hook = of_type(read_template(), "AWS::Serverless::Function")["PreTrafficFunction"]
    asks, reports = hook["Policies"][0]["Statement"]
    assert (asks["Action"], asks["Resource"]) == (
        "lambda:InvokeFunction",
        [{"Fn::Sub": f"${{{verb}.Arn}}:*"} for verb in VERBS],
    )
    assert reports["Action"] == "codedeploy:PutLifecycleEventHookExecutionStatus"
    assert reports["Resource"]["Fn::Sub"].endswith(":deploymentgroup:${AWS::StackName}-*/*")


def test_the_hook_asks_the_versions_that_are_being_deployed_and_not_the_alias() -> None:
    processed = transformed(DeploymentPreference=CANARY)
    variables = made(processed, "AWS::Lambda::Function", CANARY)["PreTrafficFunction"]["Environment"]["Variables"]
    asked = [value["Ref"] for name, value in variables.items() if name.endswith("_VERSION")]
    assert [processed["Resources"][name]["Properties"]["FunctionName"]["Ref"] for name in asked] == VERBS
    assert {processed["Resources"][name]["Type"] for name in asked} == {"AWS::Lambda::Version"}


def test_the_hook_has_the_time_that_all_it_asks_may_take() -> None:
    """Else CodeDeploy would wait for an hour. A verb that is called is asked twice, bind once."""
    functions = of_type(read_template(), "AWS::Serverless::Function")
    asked = sum(functions[verb]["Timeout"] * (1 if verb == "BindFunction" else 2) for verb in VERBS)
    assert functions["PreTrafficFunction"]["Timeout"] >= 2 * asked  # a connection that breaks is tried again


@pytest.mark.parametrize("preference", ["AllAtOnce", CANARY])
def test_no_resource_waits_for_itself(preference: str) -> None:
    """Alias, deployment group, role and hook refer to one another."""
    resources = transformed(DeploymentPreference=preference)["Resources"]
    TopologicalSorter({name: waits_for(resource) & resources.keys() for name, resource in resources.items()}).prepare()
