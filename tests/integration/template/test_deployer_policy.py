"""docs/deployer-policy.json: enough to create, update and delete the stack, and not much more."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.deployment.policy_simulator import listed
from tests.deployment.resource_schemas import schema
from tests.deployment.transform import transformed

POLICY = PROJECT / "docs" / "deployer-policy.json"
STACKS = (
    {"Authentication": "basic"},
    {"Authentication": "mtls"},
    {"WatcherMode": "external"},
    {
        "DeploymentPreference": "Canary10Percent10Minutes",
        "VpcSubnetIds": "subnet-0123456789abcdef0",
        "VpcSecurityGroupIds": "sg-0123456789abcdef0",
    },
)
"""Sets of parameters whose processed templates together contain every resource type."""

AN_API = "arn:aws:apigateway:REGION::/apis/a1b2c3d4e5"
AN_ALARM = "arn:aws:cloudwatch:REGION:ACCOUNT:alarm:STACK-CacheStale"
AN_APPLICATION = "arn:aws:codedeploy:REGION:ACCOUNT:application:STACK-ServerlessDeploymentApplication-0A1B2C3D4E5F"
A_DASHBOARD = "arn:aws:cloudwatch::ACCOUNT:dashboard/STACK"
A_DEPLOYMENT_GROUP = "arn:aws:codedeploy:REGION:ACCOUNT:deploymentgroup:STACK-ServerlessDeployment-0A1B/STACK-Bind-0A1B"
A_DOMAIN = "arn:aws:apigateway:REGION::/domainnames/berth.example.com"
A_FUNCTION = "arn:aws:lambda:REGION:ACCOUNT:function:STACK-BindFunction-0A1B2C3D4E5F"
A_LAYER = "arn:aws:lambda:REGION:ACCOUNT:layer:STACK-kubernetes"
A_LOG_GROUP = "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/lambda/STACK-functions:*"
API_LOG_GROUP = "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/vendedlogs/STACK-api:*"
A_POLICY = "arn:aws:iam::ACCOUNT:policy/STACK-WatcherPolicy-0A1B2C3D4E5F"
A_ROLE = "arn:aws:iam::ACCOUNT:role/STACK-BindFunctionRole-0A1B2C3D4E5F"
A_SCHEDULE = "arn:aws:scheduler:REGION:ACCOUNT:schedule/default/STACK-WatcherFunctionEveryMinute-0A1B2C3D4E5F"
A_SECRET = "arn:aws:secretsmanager:REGION:ACCOUNT:secret:PasswordSecret-0A1B2C3D4E5F-AbCdEf"
A_TABLE = "arn:aws:dynamodb:REGION:ACCOUNT:table/STACK-LedgerTable-0A1B2C3D4E5F"
TABLE_KEY_ARN = "arn:aws:kms:REGION:ACCOUNT:key/TABLE_KEY"
UPLOADED_CODE = "arn:aws:s3:::BUCKET/STACK/0123456789abcdef0123456789abcdef"
TRUST_STORE = "arn:aws:s3:::TRUSTSTORE_BUCKET/truststore.pem"

ALLOWED = [
    ("apigateway:POST", "arn:aws:apigateway:REGION::/apis"),
    ("apigateway:PATCH", f"{AN_API}/stages/$default"),
    ("apigateway:PUT", "arn:aws:apigateway:REGION::/tags/arn%3Aaws%3Aapigateway"),
    ("apigateway:POST", f"{A_DOMAIN}/apimappings/a1b2c3"),
    ("cloudwatch:PutMetricAlarm", AN_ALARM),
    ("cloudwatch:TagResource", A_DASHBOARD),
    ("codedeploy:CreateApplication", AN_APPLICATION),
    ("codedeploy:CreateDeployment", A_DEPLOYMENT_GROUP),
    ("dynamodb:CreateTable", A_TABLE),
    ("iam:CreatePolicy", A_POLICY),
    ("iam:PassRole", A_ROLE),
    ("kms:CreateGrant", TABLE_KEY_ARN),
    ("lambda:CreateFunction", A_FUNCTION),
    ("lambda:AddPermission", f"{A_FUNCTION}:live"),
    ("lambda:PublishLayerVersion", A_LAYER),
    ("lambda:GetLayerVersion", f"{A_LAYER}:7"),
    ("logs:CreateLogGroup", A_LOG_GROUP),
    ("logs:PutRetentionPolicy", API_LOG_GROUP),
    ("scheduler:CreateSchedule", A_SCHEDULE),
    ("secretsmanager:GetSecretValue", A_SECRET),
    ("s3:GetObject", TRUST_STORE),
    ("s3:PutObject", UPLOADED_CODE),
]
"""Actions on a resource of each kind, with its ARN."""

READING = re.compile(r"\w+:(Describe|Get|List|Pass)")
LARGEST_INLINE_POLICY_OF_A_ROLE = 10_240
"""Characters without white space. The limit of a managed policy is 6,144."""


@pytest.fixture(scope="module")
def statements() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(POLICY.read_text())["Statement"]
    return found


def test_allows_creating_every_resource_type_of_the_template(statements: list[dict[str, Any]]) -> None:
    """One action of CloudFormation's own handler is enough: the others depend on the properties in use."""
    types = {resource["Type"] for given in STACKS for resource in transformed(**given)["Resources"].values()}
    granted = {action for statement in statements for action in listed(statement["Action"])}
    needed = {name: schema(name)["handlers"]["create"]["permissions"] for name in types}
    creating = {name: {each for each in actions if not READING.match(each)} for name, actions in needed.items()}
    assert {name for name, actions in creating.items() if not actions & granted} == set()


def test_allows_every_action_needed_to_create_the_stack(statements: list[dict[str, Any]]) -> None:
    assert [each for each in ALLOWED if not _allowed(statements, *each)] == []


def test_lists_actions_without_wildcards(statements: list[dict[str, Any]]) -> None:
    granted = [action for statement in statements for action in listed(statement["Action"])]
    assert not any("*" in action for action in granted)


def test_grants_all_resources_only_for_actions_that_iam_cannot_restrict(statements: list[dict[str, Any]]) -> None:
    everywhere = {
        action
        for statement in statements
        if "*" in listed(statement["Resource"])
        for action in listed(statement["Action"])
    }
    assert {action.partition(":")[0] for action in everywhere} == {"ec2", "logs", "secretsmanager"}
    assert all("Describe" in action for action in everywhere if action.startswith("ec2:"))
    assert all("Delivery" in action or "Policies" in action or "Policy" in action or "Deliveries" in action
               for action in everywhere if action.startswith("logs:"))  # fmt: skip
    assert [action for action in everywhere if action.startswith("secretsmanager:")] == [
        "secretsmanager:GetRandomPassword"
    ]


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        pytest.param("dynamodb:DeleteTable", A_TABLE.replace("STACK", "other"), id="table of another stack"),
        pytest.param("iam:PutRolePolicy", A_ROLE.replace("STACK", "admin"), id="role of another stack"),
        pytest.param("lambda:UpdateFunctionCode", A_FUNCTION.replace("STACK", "other"), id="function of another stack"),
        pytest.param("dynamodb:GetItem", A_TABLE, id="items of a table"),
        pytest.param("dynamodb:PutItem", A_TABLE, id="allow-list"),
        pytest.param("lambda:InvokeFunction", A_FUNCTION, id="invocation of a function"),
        pytest.param("s3:PutObject", TRUST_STORE, id="write to the trust store"),
    ],
)
def test_denies_access_to_other_stacks_and_data(statements: list[dict[str, Any]], action: str, resource: str) -> None:
    assert not _allowed(statements, action, resource)


def test_allows_attaching_only_the_policies_that_sam_attaches(statements: list[dict[str, Any]]) -> None:
    attached = {
        arn
        for given in STACKS
        for resource in transformed(**given)["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
        for arn in resource["Properties"].get("ManagedPolicyArns", [])
    }
    [attaching] = [each for each in statements if "iam:AttachRolePolicy" in listed(each["Action"])]
    assert set(attaching["Condition"]["ArnEquals"]["iam:PolicyARN"]) == attached


def test_allows_passing_roles_only_to_their_services(statements: list[dict[str, Any]]) -> None:
    trusted = {
        service
        for given in STACKS
        for resource in transformed(**given)["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
        for statement in resource["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        for service in listed(statement["Principal"]["Service"])
    }
    [passing] = [each for each in statements if "iam:PassRole" in listed(each["Action"])]
    assert set(passing["Condition"]["StringEquals"]["iam:PassedToService"]) >= trusted


def test_policy_fits_into_an_inline_policy() -> None:
    text = json.dumps(json.loads(POLICY.read_text()), separators=(",", ":"))
    longest = {"STACK": 24, "ACCOUNT": 12, "REGION": 14, "TABLE_KEY": 36, "TRUSTSTORE_BUCKET": 63, "BUCKET": 63}
    for placeholder, length in sorted(longest.items(), key=lambda each: -len(each[0])):
        text = re.sub(rf"(?<![A-Z_]){placeholder}(?![A-Z_])", "x" * length, text)
    assert len(text) <= LARGEST_INLINE_POLICY_OF_A_ROLE
    assert not re.search(r"[A-Z]{5,}", re.sub(r'"[a-z]+:[A-Za-z]+"', "", text))


def _allowed(statements: list[dict[str, Any]], action: str, resource: str) -> bool:
    return any(
        action in listed(statement["Action"])
        and any(fnmatchcase(resource, pattern) for pattern in listed(statement["Resource"]))
        for statement in statements
    )
