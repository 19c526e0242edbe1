"""Applies manifests to the cluster as `kubectl apply --server-side -f` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from .kubernetes_api import JsonObject, KubernetesApi

RESOURCES = {
    "CSIStorageCapacity": "csistoragecapacities",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "Lease": "leases",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def read_manifests(path: Path) -> list[JsonObject]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document is not None]


def apply_manifests(api: KubernetesApi, documents: Sequence[JsonObject]) -> None:
    for document in documents:
        api.apply(_path(document), document)


def read_back(api: KubernetesApi, documents: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the objects as the API server stores them."""
    return [api.get(_path(document)) for document in documents]


def delete_manifests(api: KubernetesApi, documents: Sequence[JsonObject]) -> None:
    for document in documents:
        api.delete(_path(document))


def _path(document: JsonObject) -> str:
    version, metadata = document["apiVersion"], document["metadata"]
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{group}{namespace}/{RESOURCES[document['kind']]}/{metadata['name']}"
