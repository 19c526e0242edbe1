"""A private API server: which functions are in the VPC, and what they may do there.

The emulator does not run functions in a VPC, so this is checked on the template only.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.deployment.template import Deployment
from tests.deployment.transform import transformed

SUBNETS = "subnet-0123456789abcdef0,subnet-0123456789abcdef1"
GROUPS = "sg-0123456789abcdef0"
PRIVATE = {"VpcSubnetIds": SUBNETS, "VpcSecurityGroupIds": GROUPS}
BOTH = "VpcSubnetIds and VpcSecurityGroupIds require each other"
CALL_THE_API_SERVER = {"BindFunction", "WatcherFunction"}

# AWS advises to deny the actions of AWSLambdaVPCAccessExecutionRole, and detaching, to the function's code.
DENIED_TO_CODE = {
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DetachNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
}


def test_only_callers_of_the_api_server_are_in_the_vpc(template: dict[str, Any]) -> None:
    """In a VPC a function needs an endpoint to reach DynamoDB; the other functions stay outside."""
    functions = Deployment(template, **PRIVATE).resources("AWS::Serverless::Function")
    assert {name for name, function in functions.items() if "VpcConfig" in function} == CALL_THE_API_SERVER
    assert {name for name, function in functions.items() if "KubernetesLayer" in str(function.get("Layers"))} == (
        CALL_THE_API_SERVER
    )
    for name in CALL_THE_API_SERVER:
        found = functions[name]["VpcConfig"]
        assert found["SubnetIds"] == {"Fn::Split": [",", SUBNETS]}
        assert found["SecurityGroupIds"] == {"Fn::Split": [",", {"Fn::Sub": "${VpcSecurityGroupIds}"}]}


def test_public_api_server_does_not_need_a_vpc(template: dict[str, Any]) -> None:
    functions = Deployment(template).resources("AWS::Serverless::Function")
    assert not any("VpcConfig" in function for function in functions.values())


@pytest.mark.parametrize(
    ("given", "refusals"),
    [
        pytest.param({}, [], id="neither"),
        pytest.param(PRIVATE, [], id="both"),
        pytest.param({"VpcSubnetIds": SUBNETS}, [BOTH], id="only subnets"),
        pytest.param({"VpcSecurityGroupIds": GROUPS}, [BOTH], id="only security groups"),
    ],
)
def test_rejects_subnets_without_security_groups_and_vice_versa(
    template: dict[str, Any], given: dict[str, str], refusals: list[str]
) -> None:
    found = Deployment(template, Authentication="basic", **given).failed_assertions()
    assert [refusal for refusal in found if "Vpc" in refusal] == refusals


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        pytest.param("VpcSubnetIds", ",".join(["subnet-0123456789abcdef0"] * 17), id="seventeen"),
        pytest.param("VpcSubnetIds", SUBNETS.replace(",", ", "), id="with a space"),
        pytest.param("VpcSubnetIds", GROUPS, id="a group instead of a subnet"),
        pytest.param("VpcSecurityGroupIds", ",".join([GROUPS] * 6), id="six groups"),
        pytest.param("VpcSecurityGroupIds", GROUPS + ",", id="one with a trailing comma"),
    ],
)
def test_vpc_parameters_reject_malformed_lists(template: dict[str, Any], parameter: str, value: str) -> None:
    found = template["Parameters"][parameter]
    assert not re.fullmatch(found["AllowedPattern"], value)


def test_vpc_change_publishes_a_new_layer_version(template: dict[str, Any]) -> None:
    """Without a new version the alias would keep the old VPC: test_versions.py."""
    assert _layer(transformed())[0] != _layer(transformed(**PRIVATE))[0]


@pytest.mark.parametrize("given", [pytest.param({}, id="public"), pytest.param(PRIVATE, id="private")])
def test_function_code_may_not_manage_network_interfaces(given: dict[str, str]) -> None:
    """SAM attaches the policy to every function with VpcConfig. Lambda's own calls have no source function."""
    roles = {
        name: resource["Properties"]
        for name, resource in transformed(**given)["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
    }
    may_create_interfaces = {name for name, role in roles.items() if "VPCAccess" in str(role.get("ManagedPolicyArns"))}
    assert may_create_interfaces == {f"{name}Role" for name in CALL_THE_API_SERVER}
    for name in may_create_interfaces:
        [denied] = [statement for statement in _statements(roles[name]) if statement.get("Effect") == "Deny"]
        assert all(fnmatchcase(action, denied["Action"]) for action in DENIED_TO_CODE)
        assert denied["Resource"] == "*"
        [(operator, [(key, function)])] = [(op, list(keys.items())) for op, keys in denied["Condition"].items()]
        assert (operator, key) == ("ArnLike", "lambda:SourceFunctionArn")
        assert function["Fn::Sub"].endswith(":function:*")
        assert "PermissionsBoundaryArn" in str(roles[name]["PermissionsBoundary"])


def _layer(processed: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    [(name, layer)] = [each for each in processed["Resources"].items() if each[0].startswith("KubernetesLayer")]
    return name, layer["Properties"]


def _statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]
