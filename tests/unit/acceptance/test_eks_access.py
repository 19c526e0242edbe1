"""The access entries of the stack's roles, as EKS' model of its API takes them. Not run on AWS."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from botocore.stub import Stubber

from berth_cli.sources.stack import DeployedStack
from tools.acceptance.eks_access import allow, remove
from tools.acceptance.report import StepFailed, StepSkipped

WATCHER, BINDER = "arn:aws:iam::123456789012:role/watcher", "arn:aws:iam::123456789012:role/binder"
ON_EKS = DeployedStack(
    "trial", "eu-central-1", {"EksClusterName": "one"}, {"WatcherRoleArn": WATCHER, "BinderRoleArn": BINDER}
)
ELSEWHERE = DeployedStack("trial", "eu-central-1", {}, {})


@pytest.fixture
def eks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    client = boto3.client("eks", region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr("tools.acceptance.eks_access.boto3.client", lambda *_, **__: client)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def test_each_role_gets_one_entry_with_its_group(eks: Stubber) -> None:
    for arn, group in ((WATCHER, "berth-watcher"), (BINDER, "berth-binder")):
        expected = {"clusterName": "one", "principalArn": arn, "kubernetesGroups": [group]}
        eks.add_response("create_access_entry", {}, expected)
    assert allow(ON_EKS, None) == ["Access entries; the groups' roles are not checked."]


def test_names_the_group_whose_entry_failed(eks: Stubber) -> None:
    eks.add_client_error("create_access_entry", "ResourceInUseException")
    with pytest.raises(StepFailed, match="the access entry of berth-watcher cannot be created"):
        allow(ON_EKS, None)


def test_removes_both_entries(eks: Stubber) -> None:
    for arn in (WATCHER, BINDER):
        eks.add_response("delete_access_entry", {}, {"clusterName": "one", "principalArn": arn})
    assert remove(ON_EKS) == ["The access entries are deleted."]


def test_a_cluster_elsewhere_needs_none() -> None:
    with pytest.raises(StepSkipped, match="no EksClusterName"):
        allow(ELSEWHERE, None)
    assert remove(ELSEWHERE) == []
