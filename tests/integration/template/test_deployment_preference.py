"""The rollout of new versions of the verbs (DeploymentPreference), in the template as CloudFormation gets it.

The emulator has no CodeDeploy, so gradual deployments are checked on the processed template only.
"""

from __future__ import annotations

from dataclasses import fields
from graphlib import TopologicalSorter
from typing import Any

import pytest

from berth.runtime.pre_traffic import CALLS, PreTrafficSettings, probes
from tests.deployment.template import Deployment, of_type, read_template
from tests.deployment.transform import dependencies, transformed

VERBS = ["FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction"]
AT_ONCE = ["WatcherFunction", "HealthzFunction", "AuthorizerFunction"]
CANARY = "Canary10Percent10Minutes"
GROUP = "AWS::CodeDeploy::DeploymentGroup"
CHOICES = read_template()["Parameters"]["DeploymentPreference"]["AllowedValues"]


def resources(processed: dict[str, Any], kind: str, preference: str) -> dict[str, dict[str, Any]]:
    return Deployment(processed, Authentication="basic", DeploymentPreference=preference).resources(kind)


def test_default_does_not_create_codedeploy_resources() -> None:
    processed = transformed()
    assert resources(processed, "AWS::CodeDeploy::Application", "AllAtOnce") == {}
    assert resources(processed, GROUP, "AllAtOnce") == {}
    assert all("UpdatePolicy" not in resource for resource in processed["Resources"].values())
    roles = resources(processed, "AWS::IAM::Role", "AllAtOnce")
    assert {"DeploymentRole", "PreTrafficFunctionRole"} & roles.keys() == set()
    for kind in ("Function", "Version", "Alias", "EventInvokeConfig"):
        assert not any("PreTraffic" in name for name in resources(processed, f"AWS::Lambda::{kind}", "AllAtOnce"))


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice != "AllAtOnce"])
def test_every_deployment_preference_names_a_codedeploy_configuration(choice: str) -> None:
    mapped = read_template()["Mappings"]["Deployments"]
    assert list(mapped) == CHOICES
    groups = resources(transformed(DeploymentPreference=choice), GROUP, choice).values()
    names = [group["DeploymentConfigName"]["Fn::Sub"] for group in groups]
    assert names == [["CodeDeployDefault.Lambda${ConfigName}", {"ConfigName": choice}]] * len(VERBS)


def test_codedeploy_shifts_verb_aliases_only_after_the_hook() -> None:
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


def test_only_alarms_that_a_verb_version_can_cause_trigger_a_rollback() -> None:
    """CacheStale and WatcherNotRunning depend on the watcher, ApiCalls and ApiRefusals on the callers."""
    alarms = ["FailuresAlarm", "ApiErrorsAlarm", "LatencyAlarm", "LedgerUnavailableAlarm"]
    for group in resources(transformed(DeploymentPreference=CANARY), GROUP, CANARY).values():
        assert group["AlarmConfiguration"] == {"Enabled": True, "Alarms": [{"Name": {"Ref": name}} for name in alarms]}
        assert group["AutoRollbackConfiguration"] == {
            "Enabled": True,
            "Events": ["DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"],
        }
        assert group["ServiceRoleArn"] == {"Fn::GetAtt": "DeploymentRole.Arn"}


def test_rollback_alarms_fire_within_the_shortest_canary() -> None:
    alarms = of_type(read_template(), "AWS::CloudWatch::Alarm")
    for name in ("FailuresAlarm", "ApiErrorsAlarm", "LatencyAlarm", "LedgerUnavailableAlarm"):
        assert alarms[name]["Period"] * alarms[name]["DatapointsToAlarm"] < 5 * 60


def test_deployment_role_may_only_shift_aliases_and_invoke_the_hook() -> None:
    """https://docs.aws.amazon.com/codedeploy/latest/userguide/security_confused_deputy.html"""
    processed = transformed(DeploymentPreference=CANARY)
    role = resources(processed, "AWS::IAM::Role", CANARY)["DeploymentRole"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    assert trust["Condition"].keys() == {"StringEquals"}
    assert trust["Condition"]["StringEquals"].keys() == {"aws:SourceAccount"}
    assert "ManagedPolicyArns" not in role
    [policy] = role["Policies"]
    shift, shift_by_alias, invoke, describe = policy["PolicyDocument"]["Statement"]
    assert shift["Action"] == shift_by_alias["Action"] == ["lambda:GetAlias", "lambda:UpdateAlias"]
    assert shift["Resource"] == [{"Fn::GetAtt": f"{verb}.Arn"} for verb in VERBS]
    assert shift_by_alias["Resource"] == [{"Fn::Sub": f"${{{verb}.Arn}}:*"} for verb in VERBS]
    assert (invoke["Action"], invoke["Resource"]) == ("lambda:InvokeFunction", {"Fn::GetAtt": "PreTrafficFunction.Arn"})
    assert (describe["Action"], describe["Resource"]) == ("cloudwatch:DescribeAlarms", "*")


@pytest.mark.parametrize("boundary", ["", "arn:aws:iam::123456789012:policy/b"])
def test_deployment_role_has_the_permissions_boundary(boundary: str) -> None:
    role = Deployment(
        read_template(), Authentication="basic", DeploymentPreference=CANARY, PermissionsBoundaryArn=boundary
    ).resources("AWS::IAM::Role")["DeploymentRole"]
    assert role.get("PermissionsBoundary", "") == boundary


def test_hook_invokes_new_versions_not_the_alias() -> None:
    processed = transformed(DeploymentPreference=CANARY)
    variables = resources(processed, "AWS::Lambda::Function", CANARY)["PreTrafficFunction"]["Environment"]["Variables"]
    invoked = [value["Ref"] for name, value in variables.items() if name.endswith("_VERSION")]
    assert [processed["Resources"][name]["Properties"]["FunctionName"]["Ref"] for name in invoked] == VERBS
    assert {processed["Resources"][name]["Type"] for name in invoked} == {"AWS::Lambda::Version"}


def test_hook_timeout_covers_all_verb_calls() -> None:
    """Without the hook's result CodeDeploy would wait for an hour. boto3 retries after a broken connection."""
    functions = of_type(read_template(), "AWS::Serverless::Function")
    verbs = [each.name for each in fields(PreTrafficSettings)]
    assert len(verbs) == len(VERBS)
    calls = sum(len(probes(verb)) for verb in verbs)
    options = client_options()
    seconds = calls * options["attempts"] * (options["connect_timeout"] + options["read_timeout"])
    assert functions["PreTrafficFunction"]["Timeout"] >= seconds


def test_hook_waits_longer_than_a_hanging_verb_can_run() -> None:
    functions = of_type(read_template(), "AWS::Serverless::Function")
    assert all(functions[verb]["Timeout"] < client_options()["read_timeout"] for verb in VERBS)


def client_options() -> dict[str, int]:
    """Return the attempts and the timeouts (in seconds) of the hook's client."""
    options: Any = CALLS
    return {
        "attempts": options.retries["total_max_attempts"],
        "connect_timeout": options.connect_timeout,
        "read_timeout": options.read_timeout,
    }


@pytest.mark.parametrize("preference", ["AllAtOnce", CANARY])
def test_resources_do_not_have_circular_dependencies(preference: str) -> None:
    """Alias, deployment group, role and hook refer to one another."""
    resources = transformed(DeploymentPreference=preference)["Resources"]
    TopologicalSorter(
        {name: dependencies(resource) & resources.keys() for name, resource in resources.items()}
    ).prepare()
