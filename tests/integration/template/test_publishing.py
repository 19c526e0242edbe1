"""The application's metadata for `sam package` and `sam publish`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from berth import __version__
from tests.deployment.template import read_template
from tests.deployment.transform import transformed

# Resource types of the template that need an acknowledged capability.
ACKNOWLEDGED = {"AWS::IAM::Role": "CAPABILITY_IAM", "AWS::Lambda::Permission": "CAPABILITY_RESOURCE_POLICY"}


@pytest.fixture(scope="module")
def application() -> dict[str, Any]:
    found: dict[str, Any] = read_template()["Metadata"]["AWS::ServerlessRepo::Application"]
    return found


def test_version_equals_the_project_version(application: dict[str, Any]) -> None:
    assert str(application["SemanticVersion"]) == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", str(application["SemanticVersion"]))


def test_required_capabilities_are_iam_and_resource_policy() -> None:
    resources = transformed()["Resources"].values()
    assert ACKNOWLEDGED.keys() <= {resource["Type"] for resource in resources}
    assert not any("RoleName" in each["Properties"] for each in resources if each["Type"] == "AWS::IAM::Role")
    assert not any(each["Type"] in NEEDS_MORE for each in resources)


NEEDS_MORE = {"AWS::CloudFormation::Stack", "AWS::IAM::Group", "AWS::IAM::InstanceProfile"}
"""Types that would need further capabilities."""
