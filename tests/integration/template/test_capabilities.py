"""The capabilities that a deployment of the template has to acknowledge."""

from __future__ import annotations

from tests.deployment.transform import transformed

# Resource types of the template that need an acknowledged capability.
ACKNOWLEDGED = {"AWS::IAM::Role": "CAPABILITY_IAM", "AWS::Lambda::Permission": "CAPABILITY_RESOURCE_POLICY"}


def test_required_capabilities_are_iam_and_resource_policy() -> None:
    resources = transformed()["Resources"].values()
    assert ACKNOWLEDGED.keys() <= {resource["Type"] for resource in resources}
    assert not any("RoleName" in each["Properties"] for each in resources if each["Type"] == "AWS::IAM::Role")
    assert not any(each["Type"] in NEEDS_MORE for each in resources)


NEEDS_MORE = {"AWS::CloudFormation::Stack", "AWS::IAM::Group", "AWS::IAM::InstanceProfile"}
"""Types that would need further capabilities."""
