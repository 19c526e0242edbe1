"""docs/deployer-policy.json: enough to create, update and delete the stack, and not much more.

The actions per resource type are those of the handlers in CloudFormation's own schema of the type, as far as the
template uses them.
"""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from tests.deployment.resource_schemas import permissions
from tests.deployment.template import TEMPLATE
from tests.deployment.transform import transformed

POLICY = TEMPLATE.parent / "docs/deployer-policy.json"
PRIVATE = {"VpcSubnetIds": "subnet-0123456789abcdef0", "VpcSecurityGroupIds": "sg-0123456789abcdef0"}
STACKS = {
    "basic": {"Authentication": "basic"},
    "mtls": {"Authentication": "mtls"},
    "external watcher": {"WatcherMode": "external"},
    "all options": {"Tracing": "Active", "DeploymentPreference": "Canary10Percent5Minutes", **PRIVATE},
}

AN_API = "arn:aws:apigateway:REGION::/apis/a1b2c3d4e5"
AN_ALARM = "arn:aws:cloudwatch:REGION:ACCOUNT:alarm:STACK-CacheStale"
AN_APPLICATION = "arn:aws:codedeploy:REGION:ACCOUNT:application:STACK-ServerlessDeploymentApplication-0A1B2C3D4E5F"
A_DASHBOARD = "arn:aws:cloudwatch::ACCOUNT:dashboard/STACK"
A_DEPLOYMENT_GROUP = "arn:aws:codedeploy:REGION:ACCOUNT:deploymentgroup:STACK-ServerlessDeployment-0A1B/STACK-Bind-0A1B"
A_DOMAIN = "arn:aws:apigateway:REGION::/domainnames/berth.example.com"
A_FUNCTION = "arn:aws:lambda:REGION:ACCOUNT:function:STACK-BindFunction-0A1B2C3D4E5F"
A_LAYER = "arn:aws:lambda:REGION:ACCOUNT:layer:STACK-kubernetes"
A_LOG_GROUP = "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/lambda/STACK-bind:*"
API_LOG_GROUP = "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/vendedlogs/STACK-api:*"
A_PARAMETER = "arn:aws:ssm:REGION:ACCOUNT:parameter/berth/STACK/allow-list"
A_POLICY = "arn:aws:iam::ACCOUNT:policy/STACK-WatcherPolicy-0A1B2C3D4E5F"
A_ROLE = "arn:aws:iam::ACCOUNT:role/STACK-BindFunctionRole-0A1B2C3D4E5F"
A_SCHEDULE = "arn:aws:scheduler:REGION:ACCOUNT:schedule/default/STACK-WatcherFunctionEveryMinute-0A1B2C3D4E5F"
A_SECRET = "arn:aws:secretsmanager:REGION:ACCOUNT:secret:PasswordSecret-0A1B2C3D4E5F-AbCdEf"
A_TABLE = "arn:aws:dynamodb:REGION:ACCOUNT:table/STACK-LedgerTable-0A1B2C3D4E5F"
TABLE_KEY_ARN = "arn:aws:kms:REGION:ACCOUNT:key/TABLE_KEY"
UPLOADED_CODE = "arn:aws:s3:::BUCKET/STACK/0123456789abcdef0123456789abcdef"
TRUST_STORE = "arn:aws:s3:::TRUSTSTORE_BUCKET/truststore.pem"
ALL_RESOURCES = "*"

API_CALLS = "DELETE GET PATCH POST PUT"

# By type: resource, service and actions.
NEEDED: dict[str, list[tuple[str, str, str]]] = {
    "AWS::ApiGatewayV2::Api": [
        ("arn:aws:apigateway:REGION::/apis", "apigateway", "GET POST"),
        (AN_API, "apigateway", f"{API_CALLS} TagResource"),
        ("arn:aws:apigateway:REGION::/tags/arn%3Aaws%3Aapigateway", "apigateway", "DELETE GET POST PUT"),
    ],
    "AWS::ApiGatewayV2::ApiMapping": [(f"{A_DOMAIN}/apimappings/a1b2c3", "apigateway", API_CALLS)],
    "AWS::ApiGatewayV2::Authorizer": [(f"{AN_API}/authorizers/a1b2c3", "apigateway", API_CALLS)],
    "AWS::ApiGatewayV2::DomainName": [
        ("arn:aws:apigateway:REGION::/domainnames", "apigateway", "GET POST AddCertificateToDomain"),
        (A_DOMAIN, "apigateway", f"{API_CALLS} AddCertificateToDomain RemoveCertificateFromDomain"),
        (TRUST_STORE, "s3", "GetObject GetObjectVersion"),
        (
            "arn:aws:iam::ACCOUNT:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway",
            "iam",
            "CreateServiceLinkedRole",
        ),
    ],
    "AWS::ApiGatewayV2::Integration": [(f"{AN_API}/integrations/a1b2c3", "apigateway", API_CALLS)],
    "AWS::ApiGatewayV2::Route": [(f"{AN_API}/routes/a1b2c3", "apigateway", API_CALLS)],
    "AWS::ApiGatewayV2::Stage": [
        (f"{AN_API}/stages/$default", "apigateway", f"{API_CALLS} TagResource UntagResource"),
        (  # Configuring logging for an HTTP API
            ALL_RESOURCES,
            "logs",
            "CreateLogDelivery DeleteLogDelivery DescribeResourcePolicies GetLogDelivery ListLogDeliveries "
            "PutResourcePolicy UpdateLogDelivery",
        ),
    ],
    "AWS::CloudWatch::Alarm": [
        (AN_ALARM, "cloudwatch", "DeleteAlarms ListTagsForResource PutMetricAlarm TagResource UntagResource"),
        ("arn:aws:cloudwatch:REGION:ACCOUNT:alarm:*", "cloudwatch", "DescribeAlarms"),
    ],
    "AWS::CloudWatch::Dashboard": [(A_DASHBOARD, "cloudwatch", "DeleteDashboards GetDashboard PutDashboard")],
    "AWS::CodeDeploy::Application": [
        (
            AN_APPLICATION,
            "codedeploy",
            "CreateApplication DeleteApplication GetApplication ListTagsForResource TagResource UntagResource",
        ),
    ],
    "AWS::CodeDeploy::DeploymentGroup": [
        (
            A_DEPLOYMENT_GROUP,
            "codedeploy",
            "CreateDeploymentGroup DeleteDeploymentGroup GetDeploymentGroup UpdateDeploymentGroup ListTagsForResource "
            "TagResource UntagResource",
        ),
    ],
    "AWS::DynamoDB::Table": [
        (
            A_TABLE,
            "dynamodb",
            "CreateTable DeleteTable DescribeContinuousBackups DescribeContributorInsights "
            "DescribeKinesisStreamingDestination DescribeTable DescribeTimeToLive GetResourcePolicy ListTagsOfResource "
            "TagResource UntagResource UpdateContinuousBackups UpdateTable UpdateTimeToLive",
        ),
        (TABLE_KEY_ARN, "kms", "CreateGrant DescribeKey"),
    ],
    "AWS::IAM::ManagedPolicy": [
        (
            A_POLICY,
            "iam",
            "CreatePolicy CreatePolicyVersion DeletePolicy DeletePolicyVersion GetPolicy GetPolicyVersion "
            "ListEntitiesForPolicy ListPolicyVersions",
        ),
    ],
    "AWS::IAM::Role": [
        (
            A_ROLE,
            "iam",
            "AttachRolePolicy CreateRole DeleteRole DeleteRolePermissionsBoundary DeleteRolePolicy DetachRolePolicy "
            "GetRole GetRolePolicy ListAttachedRolePolicies ListRolePolicies PutRolePermissionsBoundary PutRolePolicy "
            "TagRole UntagRole UpdateAssumeRolePolicy UpdateRole UpdateRoleDescription",
        ),
    ],
    "AWS::Lambda::Alias": [
        (
            A_FUNCTION,
            "lambda",
            "CreateAlias DeleteAlias DeleteProvisionedConcurrencyConfig GetAlias GetProvisionedConcurrencyConfig "
            "PutProvisionedConcurrencyConfig UpdateAlias",
        ),
        (AN_APPLICATION, "codedeploy", "GetApplicationRevision RegisterApplicationRevision"),
        (
            A_DEPLOYMENT_GROUP,
            "codedeploy",
            "CreateDeployment GetDeployment GetDeploymentGroup ListDeployments StopDeployment",
        ),
        (
            "arn:aws:codedeploy:REGION:ACCOUNT:deploymentconfig:CodeDeployDefault.LambdaCanary10Percent5Minutes",
            "codedeploy",
            "GetDeploymentConfig",
        ),
    ],
    "AWS::Lambda::EventInvokeConfig": [
        (
            A_FUNCTION,
            "lambda",
            "DeleteFunctionEventInvokeConfig GetFunctionEventInvokeConfig PutFunctionEventInvokeConfig "
            "UpdateFunctionEventInvokeConfig",
        ),
    ],
    "AWS::Lambda::Function": [
        (
            A_FUNCTION,
            "lambda",
            "CreateFunction DeleteFunction DeleteFunctionConcurrency GetFunction GetFunctionCodeSigningConfig "
            "GetFunctionRecursionConfig GetFunctionScalingConfig GetRuntimeManagementConfig ListTags "
            "PutFunctionConcurrency TagResource UntagResource UpdateFunctionCode "
            "UpdateFunctionConfiguration",
        ),
        (f"{A_LAYER}:7", "lambda", "GetLayerVersion"),
        (A_ROLE, "iam", "PassRole"),
        (UPLOADED_CODE, "s3", "GetObject GetObjectVersion"),
        (ALL_RESOURCES, "ec2", "DescribeNetworkInterfaces DescribeSecurityGroups DescribeSubnets DescribeVpcs"),
    ],
    "AWS::Lambda::LayerVersion": [
        (A_LAYER, "lambda", "PublishLayerVersion"),
        (f"{A_LAYER}:7", "lambda", "DeleteLayerVersion GetLayerVersion"),
        (UPLOADED_CODE, "s3", "GetObject GetObjectVersion"),
    ],
    "AWS::Lambda::Permission": [(f"{A_FUNCTION}:live", "lambda", "AddPermission GetPolicy RemovePermission")],
    "AWS::Lambda::Version": [
        (
            A_FUNCTION,
            "lambda",
            "DeleteFunction GetFunctionConfiguration GetFunctionScalingConfig GetProvisionedConcurrencyConfig "
            "GetRuntimeManagementConfig ListVersionsByFunction PublishVersion",
        ),
    ],
    "AWS::Logs::LogGroup": [
        (
            group,
            "logs",
            "CreateLogGroup DeleteLogGroup DeleteRetentionPolicy DescribeIndexPolicies GetDataProtectionPolicy "
            "ListTagsForResource PutRetentionPolicy TagResource "
            "UntagResource",
        )
        for group in (A_LOG_GROUP, API_LOG_GROUP)
    ]
    + [("arn:aws:logs:REGION:ACCOUNT:log-group:*", "logs", "DescribeLogGroups")],
    "AWS::SSM::Parameter": [
        (
            A_PARAMETER,
            "ssm",
            "AddTagsToResource DeleteParameter GetParameters ListTagsForResource PutParameter RemoveTagsFromResource",
        ),
    ],
    "AWS::Scheduler::Schedule": [
        (A_SCHEDULE, "scheduler", "CreateSchedule DeleteSchedule GetSchedule UpdateSchedule"),
        (A_ROLE, "iam", "PassRole"),
    ],
    "AWS::SecretsManager::Secret": [
        (
            A_SECRET,
            "secretsmanager",
            "CreateSecret DeleteSecret DescribeSecret GetSecretValue TagResource UntagResource UpdateSecret",
        ),
        (ALL_RESOURCES, "secretsmanager", "GetRandomPassword"),
    ],
}

# Calls of `sam deploy` and `sam delete` themselves.
SAM_CALLS = [
    (
        "arn:aws:cloudformation:REGION:ACCOUNT:stack/STACK/0a1b2c3d",
        "cloudformation",
        "CreateChangeSet DeleteChangeSet DeleteStack DescribeChangeSet DescribeStackEvents DescribeStacks "
        "ExecuteChangeSet GetTemplate GetTemplateSummary ListStackResources TagResource UntagResource "
        "UpdateTerminationProtection",
    ),
    ("arn:aws:cloudformation:REGION:aws:transform/Serverless-2016-10-31", "cloudformation", "CreateChangeSet"),
    (
        "arn:aws:cloudformation:REGION:ACCOUNT:stack/aws-sam-cli-managed-default/0a1b",
        "cloudformation",
        "DescribeStacks",
    ),
    (UPLOADED_CODE, "s3", "PutObject"),
    ("arn:aws:s3:::BUCKET", "s3", "ListBucket"),
]

# By type and property: actions of the schema's handlers that only a property needs which the template does not use.
UNUSED: dict[str, dict[str, str]] = {
    "AWS::ApiGatewayV2::Api": {"BodyS3Location": "s3:getObject"},
    "AWS::CodeDeploy::DeploymentGroup": {"OnPremisesInstanceTagFilters": "codedeploy:RegisterOnPremisesInstance"},
    "AWS::DynamoDB::Table": {
        "ContributorInsightsSpecification": "dynamodb:UpdateContributorInsights",
        "ImportSourceSpecification": "dynamodb:DescribeImport dynamodb:ImportTable logs:CreateLogStream "
        "logs:DescribeLogStreams logs:PutLogEvents s3:GetObjectMetadata",
        "KinesisStreamSpecification": "dynamodb:DisableKinesisStreamingDestination kinesis:DescribeStream "
        "dynamodb:EnableKinesisStreamingDestination dynamodb:UpdateKinesisStreamingDestination kinesis:PutRecords",
        "Replicas": "dynamodb:AssociateTableReplica dynamodb:BatchWriteItem dynamodb:CreateTableReplica "
        "dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:Scan dynamodb:UpdateItem",
        "ResourcePolicy": "dynamodb:DeleteResourcePolicy dynamodb:PutResourcePolicy",
    },
    "AWS::IAM::ManagedPolicy": {
        "Groups": "iam:AttachGroupPolicy iam:DetachGroupPolicy",
        "Users": "iam:AttachUserPolicy iam:DetachUserPolicy",
    },
    "AWS::Lambda::Function": {
        "CapacityProviderConfig": "lambda:PassCapacityProvider",
        "CodeSigningConfigArn": "lambda:DeleteFunctionCodeSigningConfig lambda:GetCodeSigningConfig "
        "lambda:PutFunctionCodeSigningConfig",
        "FileSystemConfigs": "elasticfilesystem:DescribeMountTargets s3files:ListMountTargets",
        "FunctionScalingConfig": "lambda:PutFunctionScalingConfig",
        "KmsKeyArn": "kms:Decrypt kms:Encrypt kms:GenerateDataKey",
        "RecursiveLoop": "lambda:PutFunctionRecursionConfig",
        "RuntimeManagementConfig": "lambda:AssociateRuntimeAlias lambda:PutRuntimeManagementConfig",
    },
    "AWS::Lambda::Version": {
        "FunctionScalingConfig": "lambda:PutFunctionScalingConfig",
        "RuntimePolicy": "lambda:PutRuntimeManagementConfig",
    },
    "AWS::Logs::LogGroup": {
        "BearerTokenAuthenticationEnabled": "logs:PutBearerTokenAuthentication",
        "DataProtectionPolicy": "firehose:TagDeliveryStream logs:DeleteDataProtectionPolicy "
        "logs:PutDataProtectionPolicy s3:REST.PUT.OBJECT",
        "DeletionProtectionEnabled": "logs:PutLogGroupDeletionProtection",
        "FieldIndexPolicies": "logs:DeleteIndexPolicy logs:PutIndexPolicy",
        "KmsKeyId": "logs:AssociateKmsKey logs:DisassociateKmsKey",
        "ResourcePolicyDocument": "logs:DeleteResourcePolicy",
    },
    "AWS::SecretsManager::Secret": {
        "ReplicaRegions": "secretsmanager:RemoveRegionsFromReplication secretsmanager:ReplicateSecretToRegions",
    },
}

KEY_ACTIONS_OF_ITEMS = {"kms:Decrypt", "kms:Encrypt", "kms:ListAliases", "kms:RevokeGrant"}
"""DynamoDB itself uses a table's key, by the grant that the deployer creates."""

LARGEST_INLINE_POLICY_OF_A_ROLE = 10_240
"""Characters without white space. The limit of a managed policy is 6,144."""


@pytest.fixture(scope="module")
def statements() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(POLICY.read_text())["Statement"]
    return found


def resource_types() -> list[str]:
    return sorted({each["Type"] for given in STACKS.values() for each in transformed(**given)["Resources"].values()})


def test_allows_every_resource_operation(statements: list[dict[str, Any]]) -> None:
    missing = {
        (resource_type, action, resource)
        for resource_type in resource_types()
        for action, resource in _needed(NEEDED[resource_type])
        if not _allowed(statements, action, resource)
    }
    assert missing == set()


@pytest.mark.parametrize("resource_type", NEEDED)
def test_grants_what_the_schema_of_the_type_demands(statements: list[dict[str, Any]], resource_type: str) -> None:
    unused = {action for actions in UNUSED.get(resource_type, {}).values() for action in actions.split()}
    unused |= KEY_ACTIONS_OF_ITEMS if resource_type == "AWS::DynamoDB::Table" else set()
    granted = {action for statement in statements for action in _listed(statement["Action"])}
    assert permissions(resource_type) - granted == unused - granted


@pytest.mark.parametrize("resource_type", UNUSED)
def test_template_uses_no_property_whose_actions_are_left_out(resource_type: str) -> None:
    for given in STACKS.values():
        for resource in transformed(**given)["Resources"].values():
            if resource["Type"] == resource_type:
                assert not UNUSED[resource_type].keys() & resource["Properties"].keys()


def test_allows_sam_deploy_and_delete(statements: list[dict[str, Any]]) -> None:
    assert [each for each in _needed(SAM_CALLS) if not _allowed(statements, *each)] == []


def test_grants_no_unused_action(statements: list[dict[str, Any]]) -> None:
    needed = {action for uses in [*NEEDED.values(), SAM_CALLS] for action, _ in _needed(uses)}
    granted = [action for statement in statements for action in _listed(statement["Action"])]
    assert set(granted) == needed
    assert not any("*" in action for action in granted)


def test_grants_on_all_resources_only_what_iam_cannot_narrow(statements: list[dict[str, Any]]) -> None:
    everywhere = {
        action
        for statement in statements
        if "*" in _listed(statement["Resource"])
        for action in _listed(statement["Action"])
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
        pytest.param("lambda:InvokeFunction", A_FUNCTION, id="invocation of a function"),
        pytest.param("s3:PutObject", TRUST_STORE, id="write to the trust store"),
        pytest.param("ssm:PutParameter", A_PARAMETER.replace("STACK", "other"), id="allow-list of another stack"),
    ],
)
def test_denies_access_to_other_stacks_and_data(statements: list[dict[str, Any]], action: str, resource: str) -> None:
    assert not _allowed(statements, action, resource)


def test_allows_attaching_exactly_the_policies_of_sam(statements: list[dict[str, Any]]) -> None:
    attached = {
        arn
        for given in STACKS.values()
        for resource in transformed(**given)["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
        for arn in resource["Properties"].get("ManagedPolicyArns", [])
    }
    [attaching] = [each for each in statements if "iam:AttachRolePolicy" in _listed(each["Action"])]
    assert set(attaching["Condition"]["ArnEquals"]["iam:PolicyARN"]) == attached


def test_allows_passing_roles_to_their_services(statements: list[dict[str, Any]]) -> None:
    trusted = {
        service
        for given in STACKS.values()
        for resource in transformed(**given)["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
        for statement in resource["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        for service in _listed(statement["Principal"]["Service"])
    }
    [passing] = [each for each in statements if "iam:PassRole" in _listed(each["Action"])]
    assert set(passing["Condition"]["StringEquals"]["iam:PassedToService"]) >= trusted


def test_fits_into_an_inline_policy() -> None:
    text = json.dumps(json.loads(POLICY.read_text()), separators=(",", ":"))
    longest = {"STACK": 24, "ACCOUNT": 12, "REGION": 14, "TABLE_KEY": 36, "TRUSTSTORE_BUCKET": 63, "BUCKET": 63}
    for placeholder, length in sorted(longest.items(), key=lambda each: -len(each[0])):
        text = re.sub(rf"(?<![A-Z_]){placeholder}(?![A-Z_])", "x" * length, text)
    assert len(text) <= LARGEST_INLINE_POLICY_OF_A_ROLE
    assert not re.search(r"[A-Z]{5,}", re.sub(r'"[a-z]+:[A-Za-z]+"', "", text))


def _needed(uses: list[tuple[str, str, str]]) -> list[tuple[str, str]]:
    return [(f"{service}:{action}", on) for on, service, actions in uses for action in actions.split()]


def _allowed(statements: list[dict[str, Any]], action: str, resource: str) -> bool:
    """Ignores conditions."""
    return any(
        action in _listed(statement["Action"])
        and any(fnmatchcase(resource, pattern) for pattern in _listed(statement["Resource"]))
        for statement in statements
    )


def _listed(found: str | list[str]) -> list[str]:
    return [found] if isinstance(found, str) else found
