"""A private API server: which functions are in its network, and what they may do there.

The emulator has functions in no VPC: for this the template is all there is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployment.template import Deployment, read_template
from tests.deployment.transform import transformed

SUBNETS = "subnet-0123456789abcdef0,subnet-0123456789abcdef1"
GROUPS = "sg-0123456789abcdef0"
PRIVATE = {"VpcSubnetIds": SUBNETS, "VpcSecurityGroupIds": GROUPS}
CALL_THE_API_SERVER = {"BindFunction", "WatcherFunction"}

# What AWSLambdaVPCAccessExecutionRole grants, and what AWS advises to take from the code: detaching, too.
OF_LAMBDA_ALONE = {
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DetachNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def test_the_functions_that_call_the_api_server_are_in_its_network_and_no_other(template: dict[str, Any]) -> None:
    """The others need DynamoDB, and each function there needs another way to reach it."""
    functions = Deployment(template, **PRIVATE).resources("AWS::Serverless::Function")
    assert {name for name, function in functions.items() if "VpcConfig" in function} == CALL_THE_API_SERVER
    assert {name for name, function in functions.items() if "KubernetesLayer" in str(function.get("Layers"))} == (
        CALL_THE_API_SERVER
    )
    for name in CALL_THE_API_SERVER:
        found = functions[name]["VpcConfig"]
        assert found["SubnetIds"] == {"Fn::Split": [",", SUBNETS]}
        assert found["SecurityGroupIds"] == {"Fn::Split": [",", {"Fn::Sub": "${VpcSecurityGroupIds}"}]}


def test_for_a_public_api_server_none_is(template: dict[str, Any]) -> None:
    functions = Deployment(template).resources("AWS::Serverless::Function")
    assert not any("VpcConfig" in function for function in functions.values())


@pytest.mark.parametrize(
    ("given", "refusals"),
    [
        pytest.param({}, [], id="neither"),
        pytest.param(PRIVATE, [], id="both"),
        pytest.param(
            {"VpcSubnetIds": SUBNETS}, ["There are VpcSubnetIds: give VpcSecurityGroupIds"], id="subnets alone"
        ),
        pytest.param(
            {"VpcSecurityGroupIds": GROUPS}, ["There are VpcSecurityGroupIds: give VpcSubnetIds"], id="groups alone"
        ),
    ],
)
def test_subnets_have_security_groups(template: dict[str, Any], given: dict[str, str], refusals: list[str]) -> None:
    found = Deployment(template, Authentication="basic", **given).refusals()
    assert [refusal for refusal in found if "Vpc" in refusal] == refusals


@pytest.mark.parametrize(
    ("parameter", "value", "allowed"),
    [
        pytest.param("VpcSubnetIds", SUBNETS, True, id="two subnets"),
        pytest.param("VpcSubnetIds", ",".join(["subnet-0123456789abcdef0"] * 6), True, id="six"),
        pytest.param("VpcSubnetIds", ",".join(["subnet-0123456789abcdef0"] * 7), False, id="seven"),
        pytest.param("VpcSubnetIds", SUBNETS.replace(",", ", "), False, id="with a space"),
        pytest.param("VpcSubnetIds", GROUPS, False, id="a group for a subnet"),
        pytest.param("VpcSecurityGroupIds", ",".join([GROUPS] * 3), True, id="three groups"),
        pytest.param("VpcSecurityGroupIds", ",".join([GROUPS] * 4), False, id="four"),
        pytest.param("VpcSecurityGroupIds", GROUPS + ",", False, id="one, and a comma"),
    ],
)
def test_what_a_network_may_be(template: dict[str, Any], parameter: str, value: str, allowed: bool) -> None:
    found = template["Parameters"][parameter]
    assert (bool(re.fullmatch(found["AllowedPattern"], value)) and len(value) <= found["MaxLength"]) is allowed


def test_a_version_is_of_one_network(template: dict[str, Any]) -> None:
    """Else the alias would stay on a version in the old one: subnets and groups are no part of what a function is told.

    They are too long for the versions' descriptions. They stand in the layer's, which makes another version of it; that
    has another number, and this is in the functions' descriptions.
    """
    before, after = transformed(), transformed(**PRIVATE)
    assert _layer(before)[1]["Description"] == {"Fn::Sub": "The Kubernetes client  "}
    assert _layer(after)[1]["Description"] == {"Fn::Sub": f"The Kubernetes client {SUBNETS} {GROUPS}"}
    for function in CALL_THE_API_SERVER:
        [version] = [each for name, each in after["Resources"].items() if re.fullmatch(f"{function}Version.+", name)]
        text, values = version["Properties"]["Description"]["Fn::Sub"]
        assert text.endswith(" ${Layer}")
        assert values == {"Layer": {"Fn::Select": [7, {"Fn::Split": [":", {"Ref": _layer(after)[0]}]}]}}
    arn = "arn:aws:lambda:eu-central-1:123456789012:layer:berth-kubernetes:12"
    assert arn.split(":")[7] == "12"


def test_a_layer_s_description_has_room_for_the_longest_network(template: dict[str, Any]) -> None:
    description = template["Resources"]["KubernetesLayer"]["Properties"]["Description"]["Fn::Sub"]
    for name in PRIVATE:
        description = description.replace(f"${{{name}}}", "x" * template["Parameters"][name]["MaxLength"])
    assert "$" not in description
    assert len(description) <= 256


@pytest.mark.parametrize("given", [pytest.param({}, id="public"), pytest.param(PRIVATE, id="private")])
def test_what_lambda_needs_for_a_network_the_function_s_code_may_not_do(given: dict[str, str]) -> None:
    """SAM attaches the policy wherever VpcConfig stands, used or not. Lambda's own calls have no source function."""
    roles = {
        name: resource["Properties"]
        for name, resource in transformed(**given)["Resources"].items()
        if resource["Type"] == "AWS::IAM::Role"
    }
    makes_interfaces = {name for name, role in roles.items() if "VPCAccess" in str(role.get("ManagedPolicyArns"))}
    assert makes_interfaces == {f"{name}Role" for name in CALL_THE_API_SERVER}
    for name in makes_interfaces:
        [denied] = [statement for statement in _statements(roles[name]) if statement.get("Effect") == "Deny"]
        assert set(denied["Action"]) == OF_LAMBDA_ALONE
        assert denied["Resource"] == "*"
        [(operator, [(key, function)])] = [(op, list(keys.items())) for op, keys in denied["Condition"].items()]
        assert (operator, key) == ("ArnLike", "lambda:SourceFunctionArn")
        assert function["Fn::Sub"].endswith(":function:*")
        assert roles[name]["Path"] == {"Ref": "RolePath"}
        assert "PermissionsBoundaryArn" in str(roles[name]["PermissionsBoundary"])


def _layer(processed: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    [(name, layer)] = [each for each in processed["Resources"].items() if each[0].startswith("KubernetesLayer")]
    return name, layer["Properties"]


def _statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]
