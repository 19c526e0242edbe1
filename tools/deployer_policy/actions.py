"""The actions that a deployer needs for each type of resource: those of its schema's handlers, as far as they are used.

A schema names actions, and not which property needs them. PROPERTY_ACTIONS says so for what only one property needs;
they are left out while the template does not use that property.
"""

from __future__ import annotations

from collections.abc import Mapping

from tools.deployer_policy.schemas import permissions

Properties = Mapping[str, frozenset[str]]
"""The properties that the template uses, by type."""

PROPERTY_ACTIONS: Mapping[str, Mapping[str, str]] = {
    "AWS::ApiGatewayV2::Api": {"BodyS3Location": "s3:getObject"},
    "AWS::ApiGatewayV2::Authorizer": {"AuthorizerCredentialsArn": "iam:PassRole"},
    "AWS::ApiGatewayV2::Integration": {"CredentialsArn": "iam:PassRole"},
    "AWS::CodeDeploy::DeploymentGroup": {"OnPremisesInstanceTagFilters": "codedeploy:RegisterOnPremisesInstance"},
    "AWS::DynamoDB::Table": {
        "ContributorInsightsSpecification": "dynamodb:UpdateContributorInsights",
        "ImportSourceSpecification": "dynamodb:DescribeImport dynamodb:ImportTable logs:CreateLogGroup "
        "logs:CreateLogStream logs:DescribeLogGroups logs:DescribeLogStreams logs:PutLogEvents "
        "logs:PutRetentionPolicy s3:GetObject s3:GetObjectMetadata s3:ListBucket",
        "KinesisStreamSpecification": "dynamodb:DisableKinesisStreamingDestination kinesis:DescribeStream "
        "dynamodb:EnableKinesisStreamingDestination dynamodb:UpdateKinesisStreamingDestination kinesis:PutRecords",
        "ResourcePolicy": "dynamodb:DeleteResourcePolicy dynamodb:PutResourcePolicy",
    },
    "AWS::IAM::ManagedPolicy": {
        "Groups": "iam:AttachGroupPolicy iam:DetachGroupPolicy",
        "Roles": "iam:AttachRolePolicy iam:DetachRolePolicy",
        "Users": "iam:AttachUserPolicy iam:DetachUserPolicy",
    },
    "AWS::Lambda::Function": {
        "CapacityProviderConfig": "lambda:PassCapacityProvider",
        "CodeSigningConfigArn": "lambda:DeleteFunctionCodeSigningConfig lambda:GetCodeSigningConfig "
        "lambda:PutFunctionCodeSigningConfig",
        "FileSystemConfigs": "elasticfilesystem:DescribeMountTargets s3files:ListMountTargets",
        "FunctionScalingConfig": "lambda:PutFunctionScalingConfig",
        "KmsKeyArn": "kms:CreateGrant kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey",
        "RecursiveLoop": "lambda:PutFunctionRecursionConfig",
        "RuntimeManagementConfig": "lambda:AssociateRuntimeAlias lambda:PutRuntimeManagementConfig",
    },
    "AWS::Lambda::Version": {
        "FunctionScalingConfig": "lambda:PutFunctionScalingConfig",
        "RuntimePolicy": "lambda:PutRuntimeManagementConfig",
    },
    "AWS::Logs::LogGroup": {
        "BearerTokenAuthenticationEnabled": "logs:PutBearerTokenAuthentication",
        "DataProtectionPolicy": "firehose:TagDeliveryStream logs:CreateLogDelivery logs:DeleteDataProtectionPolicy "
        "logs:PutDataProtectionPolicy s3:REST.PUT.OBJECT",
        "DeletionProtectionEnabled": "logs:PutLogGroupDeletionProtection",
        "FieldIndexPolicies": "logs:DeleteIndexPolicy logs:PutIndexPolicy",
        "KmsKeyId": "logs:AssociateKmsKey logs:DisassociateKmsKey",
        "ResourcePolicyDocument": "logs:DeleteResourcePolicy logs:DescribeResourcePolicies logs:PutResourcePolicy",
    },
    "AWS::SecretsManager::Secret": {
        "ReplicaRegions": "secretsmanager:RemoveRegionsFromReplication secretsmanager:ReplicateSecretToRegions",
    },
}
"""By type and property: actions that only this property needs."""

NOT_BY_THE_DEPLOYER: Mapping[str, str] = {
    "AWS::DynamoDB::Table": "kms:Decrypt kms:Encrypt kms:ListAliases kms:RevokeGrant "
    "dynamodb:AssociateTableReplica dynamodb:BatchWriteItem dynamodb:CreateTableReplica dynamodb:DeleteItem "
    "dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:Scan dynamodb:UpdateItem iam:CreateServiceLinkedRole",
}
"""By type: what no property of it needs. DynamoDB uses a table's key by the grant that the deployer creates, and
replicas are those of AWS::DynamoDB::GlobalTable."""

NOT_IN_THE_SCHEMA: Mapping[str, str] = {
    "AWS::ApiGatewayV2::Api": "apigateway:TagResource",
    "AWS::ApiGatewayV2::DomainName": "iam:CreateServiceLinkedRole",
    "AWS::ApiGatewayV2::Stage": "apigateway:PUT logs:CreateLogDelivery logs:DeleteLogDelivery "
    "logs:DescribeResourcePolicies logs:GetLogDelivery logs:ListLogDeliveries logs:PutResourcePolicy "
    "logs:UpdateLogDelivery",
    "AWS::Lambda::Alias": "codedeploy:GetApplicationRevision codedeploy:ListDeployments "
    "codedeploy:RegisterApplicationRevision",
    "AWS::Lambda::Function": "lambda:ListTags",
}
"""By type: what the documents of the services demand besides: tags, the HTTP API's access log, deployments in steps."""


def actions(resource_type: str, used: Properties) -> frozenset[str]:
    """Of a type, in a template that uses these properties of it."""
    properties = PROPERTY_ACTIONS.get(resource_type, {})
    unused = [words for name, words in properties.items() if name not in used[resource_type]]
    left_out = " ".join([*unused, NOT_BY_THE_DEPLOYER.get(resource_type, "")]).split()
    return permissions(resource_type) - frozenset(left_out) | frozenset(
        NOT_IN_THE_SCHEMA.get(resource_type, "").split()
    )
