"""Deployments with values as AWS issues them, at their longest.

The emulator checks few limits of AWS: those are checked on the processed template, in
tests/integration/template/test_limits.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment import sam
from tests.deployment.emulator import Emulator
from tests.integration.template.issued_values import PARAMETERS_AT_THEIR_LONGEST, STACK_NAME

EKS = {"EksClusterName", "EksEndpoint", "EksCertificateAuthority"}
KUBECONFIGS = {"WatcherKubeconfigSecretArn", "BinderKubeconfigSecretArn", "KubeconfigKeyArn"}
MUTUAL_TLS = {"DomainName", "DomainCertificateArn", "TruststoreUri", "TruststoreVersion"}
NOT_DEPLOYED = {*MUTUAL_TLS, "PluginLayerArn"}
"""The emulator has no mutual TLS, and deploys no layer that does not exist."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sam.build(tmp_path_factory.mktemp("build"), sam.Machine.this())


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    with Emulator(tmp_path / "account") as emulator:
        yield emulator


@pytest.mark.stack
@pytest.mark.parametrize("cluster", [pytest.param(EKS, id="EKS"), pytest.param(KUBECONFIGS, id="kubeconfigs")])
def test_stack_deploys_and_is_deleted(emulator: Emulator, template: Path, cluster: set[str]) -> None:
    longest = {name: max(values, key=len) for name, values in PARAMETERS_AT_THEIR_LONGEST.items()}
    given = {name: value for name, value in longest.items() if name not in (EKS | KUBECONFIGS | NOT_DEPLOYED) - cluster}
    parameters = {**given, **sam.Machine.this().parameters, "Authentication": "basic"}

    sam.deploy(template, parameters, emulator.environment(), stack_name=STACK_NAME)

    cloudformation = emulator.client("cloudformation")
    [stack] = cloudformation.describe_stacks(StackName=STACK_NAME)["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    assert {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}.items() >= given.items()
    summaries = cloudformation.list_stack_resources(StackName=STACK_NAME)["StackResourceSummaries"]
    names = [each["PhysicalResourceId"] for each in summaries if each["ResourceType"] == "AWS::Lambda::Function"]
    assert len(names) == 8, "five verbs, healthz, the watcher and the authorizer"
    found = [emulator.client("lambda").get_function_configuration(FunctionName=name) for name in names]
    texts = " ".join(str(each["Environment"]) for each in found if "Environment" in each)
    assert {name for name in cluster - {"KubeconfigKeyArn"} if given[name] not in texts} == set()
    cloudformation.delete_stack(StackName=STACK_NAME)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=STACK_NAME, WaiterConfig={"Delay": 1})
