"""Manifests of a second kube-scheduler, for control planes whose own scheduler does not support extenders."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Manifest = dict[str, object]

CONFIGURATION = "config.yaml"
CA = "ca.crt"
CONFIGURATION_FOLDER = "/etc/berth"
TLS_FOLDER = "/etc/berth-tls"

RBAC = "rbac.authorization.k8s.io"
KUBE_SYSTEM = "kube-system"
"""Namespace of the role extension-apiserver-authentication-reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondScheduler:
    """Values of the manifests.

    `configuration`: text of the KubeSchedulerConfiguration. `without_password`: the same text without the password it
    contains; empty if it contains none. `client`: certificate and key in PEM; or `client_secret`: the name of an
    existing Secret of type kubernetes.io/tls.
    """

    name: str
    namespace: str
    image: str
    flags: Sequence[str]
    configuration: str = field(repr=False)
    without_password: str = ""
    ca: str = ""
    client: tuple[bytes, bytes] | None = field(default=None, repr=False)
    client_secret: str = ""

    @property
    def tls_secret(self) -> str:
        """Name of the Secret with the client certificate; empty without one."""
        return f"{self.name}-tls" if self.client is not None else self.client_secret


def manifests(second: SecondScheduler) -> list[Manifest]:
    """The manifests, in the order of their dependencies."""
    return [
        _namespaced_object(second, "v1", "ServiceAccount"),
        # kube-scheduler's permissions; every cluster has both ClusterRoles.
        _cluster_role_binding(second, "kube-scheduler"),
        _cluster_role_binding(second, "volume-scheduler"),
        _binding(second, KUBE_SYSTEM, "extension-apiserver-authentication-reader", f"{second.name}-as-kube-scheduler"),
        _leader_election_role(second),
        _binding(second, second.namespace, f"{second.name}-leader-election", f"{second.name}-leader-election"),
        *_configuration_objects(second),
        _deployment(second),
    ]


def _namespaced_object(second: SecondScheduler, version: str, kind: str, **fields: object) -> Manifest:
    metadata = {"name": second.name, "namespace": second.namespace}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _cluster_role_binding(second: SecondScheduler, role: str) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{second.name}-as-{role}"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"system:{role}"},
        "subjects": [_subject(second)],
    }


def _binding(second: SecondScheduler, namespace: str, role: str, name: str) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": role},
        "subjects": [_subject(second)],
    }


def _subject(second: SecondScheduler) -> Mapping[str, str]:
    return {"kind": "ServiceAccount", "name": second.name, "namespace": second.namespace}


def _leader_election_role(second: SecondScheduler) -> Manifest:
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": f"{second.name}-leader-election", "namespace": second.namespace},
        "rules": [
            {**leases, "verbs": ["create"]},  # RBAC cannot restrict `create` by name
            {**leases, "resourceNames": [second.name], "verbs": ["get", "update"]},
        ],
    }


def _configuration_objects(second: SecondScheduler) -> list[Manifest]:
    """Public files in a ConfigMap, files with secrets in Secrets."""
    texts = {CONFIGURATION: second.configuration} | ({CA: second.ca} if second.ca else {})
    if second.without_password:
        found = [_namespaced_object(second, "v1", "Secret", type="Opaque", stringData=texts)]
    else:
        found = [_namespaced_object(second, "v1", "ConfigMap", data=texts)]
    if second.client is not None:
        certificate, key = (b64encode(each).decode() for each in second.client)
        secret = _namespaced_object(
            second, "v1", "Secret", type="kubernetes.io/tls", data={"tls.crt": certificate, "tls.key": key}
        )
        secret["metadata"] = {"name": second.tls_secret, "namespace": second.namespace}
        found.append(secret)
    return found


def _deployment(second: SecondScheduler) -> Manifest:
    labels = {"app": second.name}
    volumes, mounts = _volumes(second)
    container = {
        "name": "kube-scheduler",
        "image": second.image,
        "args": [f"--config={CONFIGURATION_FOLDER}/{CONFIGURATION}", *second.flags],
        "volumeMounts": mounts,
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 10259, "scheme": "HTTPS"},
            "initialDelaySeconds": 15,
        },
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return _namespaced_object(
        second,
        "apps/v1",
        "Deployment",
        spec={
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"berth.dev/configuration": _configuration_hash(second)}},
                "spec": {
                    "serviceAccountName": second.name,
                    "priorityClassName": "system-cluster-critical",
                    "containers": [container],
                    "volumes": volumes,
                },
            },
        },
    )


def _volumes(second: SecondScheduler) -> tuple[list[object], list[object]]:
    source = (
        {"secret": {"secretName": second.name}} if second.without_password else {"configMap": {"name": second.name}}
    )
    volumes: list[object] = [{"name": "config", **source}]
    mounts: list[object] = [{"name": "config", "mountPath": CONFIGURATION_FOLDER, "readOnly": True}]
    if second.tls_secret:
        volumes.append({"name": "tls", "secret": {"secretName": second.tls_secret}})
        mounts.append({"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True})
    return volumes, mounts


def _configuration_hash(second: SecondScheduler) -> str:
    """A hash of the configuration. A change of it makes the Deployment restart: kube-scheduler reads its files once.

    It covers no secret: anyone who can read the Deployment could otherwise guess passwords and compare hashes.
    """
    public = second.without_password or second.configuration
    certificate = second.client[0] if second.client is not None else b""
    return hashlib.sha256(f"{public}\0{second.ca}\0".encode() + certificate).hexdigest()[:16]
