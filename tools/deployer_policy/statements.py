"""The statements of the policy: for which resources a type's actions are allowed. No schema knows ARNs.

An action is matched by its name and the types that need it. Every action of every type has to have a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tools.deployer_policy.actions import Properties, actions

LAMBDA = tuple(f"AWS::Lambda::{kind}" for kind in ("Alias", "EventInvokeConfig", "Function", "Permission", "Version"))
API = tuple(f"AWS::ApiGatewayV2::{kind}" for kind in ("Api", "Authorizer", "Integration", "Route", "Stage"))
CODEDEPLOY = ("AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup", "AWS::Lambda::Alias")
ROLES = "arn:aws:iam::ACCOUNT:role/STACK-*"
SAM_POLICIES = (
    "service-role/AWSLambdaBasicExecutionRole",
    "service-role/AWSLambdaVPCAccessExecutionRole",
    "AWSXrayWriteOnlyAccess",
)

Json = Mapping[str, object]


class WithoutStatement(Exception):
    """A type needs an action that no statement allows."""


@dataclass(frozen=True)
class Statement:
    """`matching`: patterns of actions. `types`: whose actions these are; none: the patterns are actions themselves, of
    `sam deploy` and `sam delete`. `but_not`: actions that another statement allows for other resources."""

    sid: str
    matching: str
    resources: Sequence[str]
    types: Sequence[str] = ()
    but_not: str = ""
    condition: Json = field(default_factory=dict)

    def covers(self, resource_type: str, action: str) -> bool:
        return (
            resource_type in self.types
            and action not in self.but_not.split()
            and any(fnmatchcase(action, pattern) for pattern in self.matching.split())
        )

    def document(self, needed: Mapping[str, frozenset[str]]) -> Json:
        """With the actions of `needed` that it covers."""
        found = {action for name, each in needed.items() for action in each if self.covers(name, action)}
        listed = sorted(found) if self.types else self.matching.split()
        resources = list(self.resources)
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": listed[0] if len(listed) == 1 else listed,
            "Resource": resources[0] if len(resources) == 1 else resources,
            **({"Condition": self.condition} if self.condition else {}),
        }


STATEMENTS = (
    Statement(
        "Stack",
        "cloudformation:CreateChangeSet cloudformation:DeleteChangeSet cloudformation:DeleteStack "
        "cloudformation:DescribeChangeSet cloudformation:DescribeStackEvents cloudformation:DescribeStacks "
        "cloudformation:ExecuteChangeSet cloudformation:GetTemplate cloudformation:GetTemplateSummary "
        "cloudformation:ListStackResources cloudformation:TagResource cloudformation:UntagResource "
        "cloudformation:UpdateTerminationProtection",
        ["arn:aws:cloudformation:REGION:ACCOUNT:stack/STACK/*"],
    ),
    Statement(
        "ServerlessTransform",
        "cloudformation:CreateChangeSet",
        ["arn:aws:cloudformation:REGION:aws:transform/Serverless-2016-10-31"],
    ),
    Statement(
        "FindSamBucket",
        "cloudformation:DescribeStacks",
        ["arn:aws:cloudformation:REGION:ACCOUNT:stack/aws-sam-cli-managed-default/*"],
    ),
    # CloudFormation reads there what sam has written.
    Statement("UploadCode", "s3:GetObject s3:GetObjectVersion s3:PutObject", ["arn:aws:s3:::BUCKET/STACK/*"]),
    Statement("ListUploadedCode", "s3:ListBucket", ["arn:aws:s3:::BUCKET"]),
    Statement(
        "Functions",
        "lambda:*",
        ["arn:aws:lambda:REGION:ACCOUNT:function:STACK-*"],
        LAMBDA,
        but_not="lambda:GetLayerVersion",
    ),
    Statement(
        "Layers",
        "lambda:*Layer*",
        ["arn:aws:lambda:REGION:ACCOUNT:layer:STACK-*"],
        ("AWS::Lambda::LayerVersion", "AWS::Lambda::Function"),
    ),
    Statement(
        "Roles",
        "iam:*",
        [ROLES],
        ("AWS::IAM::Role",),
        but_not="iam:AttachRolePolicy iam:DetachRolePolicy",
    ),
    Statement("Policies", "iam:*", ["arn:aws:iam::ACCOUNT:policy/STACK-*"], ("AWS::IAM::ManagedPolicy",)),
    Statement(
        "AttachSamPolicies",
        "iam:AttachRolePolicy iam:DetachRolePolicy",
        [ROLES],
        ("AWS::IAM::Role",),
        condition={"ArnEquals": {"iam:PolicyARN": [f"arn:aws:iam::aws:policy/{name}" for name in SAM_POLICIES]}},
    ),
    Statement(
        "PassRoles",
        "iam:PassRole",
        [ROLES],
        ("AWS::CodeDeploy::DeploymentGroup", "AWS::Lambda::Function", "AWS::Scheduler::Schedule"),
        condition={
            "StringEquals": {
                "iam:PassedToService": ["codedeploy.amazonaws.com", "lambda.amazonaws.com", "scheduler.amazonaws.com"]
            }
        },
    ),
    Statement(
        "CreateApiGatewayServiceRole",
        "iam:CreateServiceLinkedRole",
        ["arn:aws:iam::ACCOUNT:role/aws-service-role/ops.apigateway.amazonaws.com/AWSServiceRoleForAPIGateway"],
        ("AWS::ApiGatewayV2::DomainName",),
        condition={"StringEquals": {"iam:AWSServiceName": "ops.apigateway.amazonaws.com"}},
    ),
    Statement("DescribeNetwork", "ec2:Describe*", ["*"], LAMBDA),
    Statement(
        "Api",
        "apigateway:*",
        [
            "arn:aws:apigateway:REGION::/apis",
            "arn:aws:apigateway:REGION::/apis/*",
            "arn:aws:apigateway:REGION::/tags/*",
        ],
        API,
    ),
    Statement(
        "DomainName",
        "apigateway:*",
        ["arn:aws:apigateway:REGION::/domainnames", "arn:aws:apigateway:REGION::/domainnames/*"],
        ("AWS::ApiGatewayV2::ApiMapping", "AWS::ApiGatewayV2::DomainName"),
    ),
    Statement("ReadTruststore", "s3:*", ["arn:aws:s3:::TRUSTSTORE_BUCKET/*"], ("AWS::ApiGatewayV2::DomainName",)),
    Statement("Tables", "dynamodb:*", ["arn:aws:dynamodb:REGION:ACCOUNT:table/STACK-*"], ("AWS::DynamoDB::Table",)),
    Statement("DecryptTableKey", "kms:*", ["arn:aws:kms:REGION:ACCOUNT:key/TABLE_KEY"], ("AWS::DynamoDB::Table",)),
    Statement(
        "LogGroups",
        "logs:*",
        [
            "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/lambda/STACK-*",
            "arn:aws:logs:REGION:ACCOUNT:log-group:/aws/vendedlogs/STACK-*",
        ],
        ("AWS::Logs::LogGroup",),
        but_not="logs:DescribeLogGroups",
    ),
    Statement(
        "ListLogGroups",
        "logs:DescribeLogGroups",
        ["arn:aws:logs:REGION:ACCOUNT:log-group:*"],
        ("AWS::Logs::LogGroup",),
    ),
    Statement("AccessLogDelivery", "logs:*", ["*"], ("AWS::ApiGatewayV2::Stage",)),
    Statement(
        "Schedule",
        "scheduler:*",
        ["arn:aws:scheduler:REGION:ACCOUNT:schedule/default/STACK-*"],
        ("AWS::Scheduler::Schedule",),
    ),
    Statement(
        "PasswordSecret",
        "secretsmanager:*",
        ["arn:aws:secretsmanager:REGION:ACCOUNT:secret:PasswordSecret-*"],
        ("AWS::SecretsManager::Secret",),
        but_not="secretsmanager:GetRandomPassword",
    ),
    Statement("GeneratePassword", "secretsmanager:GetRandomPassword", ["*"], ("AWS::SecretsManager::Secret",)),
    Statement("AllowList", "ssm:*", ["arn:aws:ssm:REGION:ACCOUNT:parameter/berth/STACK/*"], ("AWS::SSM::Parameter",)),
    Statement(
        "Alarms",
        "cloudwatch:*",
        ["arn:aws:cloudwatch:REGION:ACCOUNT:alarm:STACK-*"],
        ("AWS::CloudWatch::Alarm",),
        but_not="cloudwatch:DescribeAlarms",
    ),
    Statement(
        "ListAlarms",
        "cloudwatch:DescribeAlarms",
        ["arn:aws:cloudwatch:REGION:ACCOUNT:alarm:*"],
        ("AWS::CloudWatch::Alarm",),
    ),
    Statement(
        "Dashboard",
        "cloudwatch:*",
        ["arn:aws:cloudwatch::ACCOUNT:dashboard/STACK"],
        ("AWS::CloudWatch::Dashboard",),
    ),
    Statement(
        "CodeDeploy",
        "codedeploy:*",
        [
            "arn:aws:codedeploy:REGION:ACCOUNT:application:STACK-*",
            "arn:aws:codedeploy:REGION:ACCOUNT:deploymentgroup:STACK-*",
            "arn:aws:codedeploy:REGION:ACCOUNT:deploymentconfig:CodeDeployDefault.Lambda*",
        ],
        CODEDEPLOY,
    ),
)

UPLOADED = frozenset({"s3:GetObject", "s3:GetObjectVersion"})
"""UploadCode allows them: functions and layers are made of what was uploaded."""


def policy(used: Properties) -> Json:
    """For a template that uses these properties of these types. Raises WithoutStatement."""
    needed = {name: actions(name, used) for name in used}
    if missing := sorted(_without_statement(needed)):
        raise WithoutStatement(f"no statement allows {', '.join(missing)}")
    return {"Version": "2012-10-17", "Statement": [statement.document(needed) for statement in STATEMENTS]}


def _without_statement(needed: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for name, found in needed.items():
        for action in found - UPLOADED if name.startswith("AWS::Lambda::") else found:
            if not any(statement.covers(name, action) for statement in STATEMENTS):
                yield f"{action} ({name})"
