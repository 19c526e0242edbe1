"""Protection of data against deletion, and names that two stacks of one account do not share.

The emulator supports deletion protection (test_deployed_deletion.py), but not point-in-time recovery.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployment.template import Deployment
from tests.deployment.transform import transformed

TABLE = "AWS::DynamoDB::Table"

# The name property of each type. CloudFormation generates a name with the stack's name if it is absent.
NAMES = {
    "AWS::ApiGatewayV2::DomainName": "DomainName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::CodeDeploy::Application": "ApplicationName",
    "AWS::CodeDeploy::DeploymentGroup": "DeploymentGroupName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Lambda::LayerVersion": "LayerName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::SecretsManager::Secret": "Name",
}


def tables(template: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(template, Authentication="basic", **parameters).resources(TABLE)


def test_ledger_is_protected_and_recoverable(template: dict[str, Any]) -> None:
    ledger = tables(template)["LedgerTable"]
    assert ledger["DeletionProtectionEnabled"] is True
    assert ledger["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_ledger_is_retained_for_all_parameter_values(template: dict[str, Any]) -> None:
    ledger = template["Resources"]["LedgerTable"]
    assert (ledger["DeletionPolicy"], ledger["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_only_the_ledger_is_retained() -> None:
    """A version is deleted with its function, regardless of its own policy."""
    kept = {
        name: resource["Type"]
        for name, resource in transformed()["Resources"].items()
        if resource.get("DeletionPolicy", "Delete") != "Delete" and resource["Type"] != "AWS::Lambda::Version"
    }
    assert kept == {"LedgerTable": TABLE}


@pytest.mark.parametrize("authentication", ["basic", "mtls"])
def test_resource_names_contain_the_stack_name(authentication: str) -> None:
    """By default SAM names a schedule after its function, and a layer after its logical id."""
    for name, resource in transformed(Authentication=authentication)["Resources"].items():
        given = resource["Properties"].get(NAMES.get(resource["Type"], ""))
        assert given is None or name == "Domain" or "AWS::StackName" in str(given), name
    assert set(NAMES) >= {
        resource["Type"]
        for resource in transformed(Authentication=authentication)["Resources"].values()
        if any(re.fullmatch(r"(\w+)?Name", key) for key in resource["Properties"])
        and resource["Type"] not in NAMES_WITHOUT_STACK
    }


# Types whose name refers to another resource, or is unique within another resource.
NAMES_WITHOUT_STACK = {
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
}
