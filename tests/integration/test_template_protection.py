"""What a deletion or a mistake spares, and what two stacks of one account do not share.

The emulator honours deletion protection (test_deployed_deletion.py), and knows no recovery to a point in time.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployment.template import Deployment, read_template
from tests.deployment.transform import transformed

TABLE = "AWS::DynamoDB::Table"

# Where a name is given, and by which property. CloudFormation makes up the others, with the stack's name in them.
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
    "AWS::SSM::Parameter": "Name",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::SecretsManager::Secret": "Name",
}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


def tables(template: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    return Deployment(template, Authentication="basic", **parameters).resources(TABLE)


@pytest.mark.parametrize(
    ("parameters", "protected", "recoverable"),
    [
        pytest.param({}, True, True, id="unless told otherwise"),
        pytest.param({"LedgerDeletionProtection": "false"}, False, True, id="not protected"),
        pytest.param({"LedgerPointInTimeRecovery": "false"}, True, False, id="not recoverable"),
    ],
)
def test_the_ledger_is_protected_and_recoverable(
    template: dict[str, Any], parameters: dict[str, str], protected: bool, recoverable: bool
) -> None:
    ledger = tables(template, **parameters)["LedgerTable"]
    assert ledger["DeletionProtectionEnabled"] is protected
    assert ledger["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": recoverable}


def test_the_ledger_outlives_the_stack_whatever_is_asked_for(template: dict[str, Any]) -> None:
    ledger = template["Resources"]["LedgerTable"]
    assert (ledger["DeletionPolicy"], ledger["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_the_cache_is_neither_for_it_would_hold_up_a_deletion_and_a_roll_back_for_nothing(
    template: dict[str, Any],
) -> None:
    cache = tables(template)["CacheTable"]
    assert "DeletionProtectionEnabled" not in cache
    assert "PointInTimeRecoverySpecification" not in cache
    resource = template["Resources"]["CacheTable"]
    assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Delete", "Delete")


def test_nothing_else_outlives_the_stack() -> None:
    """A version goes with its function, whatever its own policy."""
    kept = {
        name: resource["Type"]
        for name, resource in transformed()["Resources"].items()
        if resource.get("DeletionPolicy", "Delete") != "Delete" and resource["Type"] != "AWS::Lambda::Version"
    }
    assert kept == {"LedgerTable": TABLE}


@pytest.mark.parametrize("authentication", ["basic", "mtls"])
def test_a_second_stack_in_an_account_finds_no_name_taken(authentication: str) -> None:
    """For each cluster there is a stack. SAM names a schedule by its function alone, and a layer by its logical id."""
    for name, resource in transformed(Authentication=authentication)["Resources"].items():
        given = resource["Properties"].get(NAMES.get(resource["Type"], ""))
        assert given is None or name == "Domain" or "AWS::StackName" in str(given), name
    assert set(NAMES) >= {
        resource["Type"]
        for resource in transformed(Authentication=authentication)["Resources"].values()
        if any(re.fullmatch(r"(\w+)?Name", key) for key in resource["Properties"])
        and resource["Type"] not in REFER_TO_OTHERS
    }


# Their names are those of what they belong to, or are unique within it.
REFER_TO_OTHERS = {
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Lambda::Alias",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
}
