"""Gives the stack's two roles their permissions in an EKS cluster: access entries, and roles for their groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import boto3
import yaml
from botocore.exceptions import BotoCoreError, ClientError

from berth.cluster.api_server import kubeconfig as kubeconfigs
from berth.cluster.api_server.client import APPLY, ApiServer
from berth_cli.sources.stack import DeployedStack
from tools.acceptance.report import StepFailed, StepSkipped

CLUSTER = "EksCluster"
GROUPS: Mapping[str, str] = {"WatcherRoleArn": "berth-watcher", "BinderRoleArn": "berth-binder"}
MANIFESTS = Path(__file__).resolve().parents[2] / "examples" / "rbac.yaml"
CALL_SECONDS = 10.0


def allow(stack: DeployedStack, kubeconfig: Path | None) -> list[str]:
    """Create both entries and apply the groups' roles. Raises StepSkipped without an EKS cluster, StepFailed."""
    cluster = stack.parameters.get(CLUSTER, "").partition(",")[0]
    if not cluster:
        raise StepSkipped(f"no {CLUSTER}: the kubeconfigs in the secrets have rights of their own")
    if kubeconfig is not None:
        _apply(ApiServer(kubeconfigs.from_file(kubeconfig), time.monotonic))
    client = boto3.client("eks", region_name=stack.region)
    for output, group in GROUPS.items():
        try:
            client.create_access_entry(clusterName=cluster, principalArn=stack.output(output), kubernetesGroups=[group])
        except (BotoCoreError, ClientError) as error:
            raise StepFailed(f"the access entry of {group} cannot be created: {error}; docs/install/eks.md") from error
    return ["Access entries for both roles." if kubeconfig else "Access entries; the groups' roles are not checked."]


def remove(stack: DeployedStack) -> list[str]:
    """Delete both entries. The groups' roles stay: without an entry, the groups are empty."""
    cluster = stack.parameters.get(CLUSTER, "").partition(",")[0]
    if not cluster:
        return []
    client = boto3.client("eks", region_name=stack.region)
    for output in GROUPS:
        try:
            client.delete_access_entry(clusterName=cluster, principalArn=stack.output(output))
        except (BotoCoreError, ClientError) as error:
            return [f"An access entry stays, delete it by hand: {error}"]
    return ["The access entries are deleted."]


def _apply(api: ApiServer) -> None:
    for document in yaml.safe_load_all(MANIFESTS.read_text()):
        version, kind, metadata = document["apiVersion"], document["kind"], document["metadata"]
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        plural = "csistoragecapacities" if kind == "CSIStorageCapacity" else f"{kind.lower()}s"
        path = f"{group}{namespace}/{plural}/{metadata['name']}"
        query = {"fieldManager": "berth-acceptance", "force": "true"}
        answer = api.request("PATCH", path, timeout=CALL_SECONDS, query=query, body=document, content_type=APPLY)
        if not answer.ok:
            raise StepFailed(f"{path}: {answer.message}; the kubeconfig must be an administrator's")
