"""Values as AWS issues them fit into the parameters, and into everything that is composed from the values."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.deployment.composed import ComposedDeployment
from tests.deployment.resource_schemas import violations
from tests.deployment.template import read_template
from tests.deployment.transform import transformed

from .issued_values import PARAMETERS_AT_THEIR_LONGEST, STACK_NAME, domain, regions_of

PARAMETERS = read_template()["Parameters"]
LONGEST_PARAMETER = 4096
LARGEST_ENVIRONMENT = 4096
"""In bytes of the environment as JSON, which Lambda measures."""
LARGEST_INLINE_POLICIES = 10_240
LARGEST_MANAGED_POLICY = 6_144
LONGEST_OUTPUT = 4096
LONGEST_DESCRIPTION_OF_A_TEMPLATE = 1024
MOST_PARAMETERS, MOST_OUTPUTS, MOST_MAPPINGS, MOST_RESOURCES = 200, 200, 200, 500

CLUSTERS = {"kubeconfig": ("WatcherKubeconfigSecretArn", "BinderKubeconfigSecretArn"), "eks": ("EksCluster",)}
LONGEST_PARTITION = "aws-iso-f"
LONGEST = (("eks", "basic", "continuous"), ("kubeconfig", "mtls", "external"))
"""Choices (cluster, caller, watcher) that make the longest environment, and the longest policy with most resources."""

CALLERS = {"basic": (), "mtls": ("DomainName", "DomainCertificateArn", "TruststoreUri")}
ALWAYS = (
    "PermissionsBoundaryArn",
    "KeyArn",
    "VpcSubnetIds",
    "VpcSecurityGroupIds",
    "AlarmTopicArn",
    "PluginLayerArn",
    "SchedulerNames",
)
CHOICES = ("HttpTimeoutSeconds", "Profile")
"""Parameters in the environment, which get their longest allowed value."""
CANARY = "Linear10PercentEvery10Minutes"


def test_parameters_accept_every_value_that_aws_issues() -> None:
    issued = [(PARAMETERS[name], value) for name, values in PARAMETERS_AT_THEIR_LONGEST.items() for value in values]
    assert [value for parameter, value in issued if len(value) > parameter.get("MaxLength", LONGEST_PARAMETER)] == []
    refused = [value for found, value in issued if not re.fullmatch(found.get("AllowedPattern", ".*"), value)]
    assert refused == []


def test_every_free_text_parameter_is_tested_with_its_longest_value() -> None:
    free = {name for name, each in PARAMETERS.items() if not each.keys() & {"AllowedValues", "MinValue"}}
    assert free == PARAMETERS_AT_THEIR_LONGEST.keys()


def test_rejects_certificate_authority_too_long_for_an_environment_variable() -> None:
    parameter = PARAMETERS["EksCluster"]
    assert parameter["MaxLength"] == max(map(len, PARAMETERS_AT_THEIR_LONGEST["EksCluster"]))
    assert "kubeconfig secrets" in parameter["ConstraintDescription"]


def issued(name: str, partition: str) -> str:
    values = PARAMETERS_AT_THEIR_LONGEST[name]
    return max((value for value in values if not value.startswith("arn:") or f"arn:{partition}:" in value), key=len)


@pytest.fixture(params=LONGEST, ids="-".join, scope="module")
def composed(request: pytest.FixtureRequest) -> ComposedDeployment:
    partition = LONGEST_PARTITION
    cluster, caller, watcher = request.param
    parameters = {name: issued(name, partition) for name in (*CLUSTERS[cluster], *CALLERS[caller], *ALWAYS)}
    parameters |= {"Authentication": caller, "WatcherMode": watcher}
    parameters |= {"DeploymentPreference": CANARY, "DetailedMetrics": "true"}
    parameters |= {name: max(map(str, PARAMETERS[name]["AllowedValues"]), key=len) for name in CHOICES}
    return ComposedDeployment(
        transformed(DeploymentPreference=CANARY),
        stack=STACK_NAME,
        partition=partition,
        region=max(regions_of(partition), key=len),
        domain=domain(partition),
        **parameters,
    )


def created(composed: ComposedDeployment) -> list[tuple[str, str, dict[str, Any]]]:
    types = sorted({each["Type"] for each in transformed(DeploymentPreference=CANARY)["Resources"].values()})
    return [(kind, name, found) for kind in types for name, found in composed.resources(kind).items()]


def test_every_resource_is_within_the_limits_of_its_schema(composed: ComposedDeployment) -> None:
    found = {f"{name} {each}" for kind, name, properties in created(composed) for each in violations(kind, properties)}
    assert found == set()


def test_environment_of_each_function_fits_into_four_kilobytes(composed: ComposedDeployment) -> None:
    for name, function in composed.resources("AWS::Lambda::Function").items():
        variables = {key: str(value) for key, value in function["Environment"]["Variables"].items()}
        assert len(json.dumps(variables, separators=(",", ":"))) <= LARGEST_ENVIRONMENT, name


def test_inline_policies_fit_into_a_role(composed: ComposedDeployment) -> None:
    for name, role in composed.resources("AWS::IAM::Role").items():
        policies = [json.dumps(each["PolicyDocument"], separators=(",", ":")) for each in role.get("Policies", [])]
        assert sum(map(len, policies)) <= LARGEST_INLINE_POLICIES, name


def test_policy_of_berth_watch_fits_into_a_managed_policy(composed: ComposedDeployment) -> None:
    for name, policy in composed.resources("AWS::IAM::ManagedPolicy").items():
        text = json.dumps(policy["PolicyDocument"], separators=(",", ":"))
        assert len(text) <= LARGEST_MANAGED_POLICY, name


def test_outputs_fit_the_cloudformation_limits(composed: ComposedDeployment) -> None:
    assert all(len(str(value)) <= LONGEST_OUTPUT for value in composed.outputs().values())


def test_template_is_within_the_quotas_of_cloudformation() -> None:
    processed = transformed(DeploymentPreference=CANARY)
    assert len(processed["Parameters"]) <= MOST_PARAMETERS
    assert len(processed["Outputs"]) <= MOST_OUTPUTS
    assert len(processed["Mappings"]) <= MOST_MAPPINGS
    assert len(processed["Resources"]) <= MOST_RESOURCES
    assert len(processed["Description"]) <= LONGEST_DESCRIPTION_OF_A_TEMPLATE
    assert len(json.dumps(processed)) < 1_000_000
