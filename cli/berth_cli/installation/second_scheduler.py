"""A second kube-scheduler, for control planes whose own scheduler cannot be configured with extenders.

The command and the Helm chart use the same template files for its RBAC roles and its Deployment.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import Template

from berth_cli.installation.kube_scheduler_configuration import Document, Entry, yaml_text
from berth_cli.terminal.input_files import PROJECT

FILES = PROJECT / "charts" / "berth" / "files" / "scheduler"
CONFIGURATION, CA = "config.yaml", "ca.crt"
CONFIGURATION_FOLDER, TLS_FOLDER = "/etc/berth", "/etc/berth-tls"
_CREDENTIALS = re.compile("//[^/@]*@")
DEFAULT_SIZE = "medium"
MEMORY = {"small": "512Mi", DEFAULT_SIZE: "1Gi", "large": "2Gi"}
"""The memory that kube-scheduler requests, by the stack's ClusterSize. docs/install/scheduler.md has measurements."""
_RELEASE = re.compile(r"v\d+\.\d+\.\d+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondScheduler:
    """A second scheduler. `configuration`: the text of the KubeSchedulerConfiguration. `client`: certificate and key in
    PEM; or `client_secret`: the name of an existing Secret of type kubernetes.io/tls."""

    name: str
    namespace: str
    image: str
    memory: str
    flags: Sequence[str]
    configuration: str = field(repr=False)
    has_password: bool = False
    ca: str = ""
    client: tuple[bytes, bytes] | None = field(default=None, repr=False)
    client_secret: str = ""


def image_of(version: str) -> str:
    """Return kube-scheduler's image for an API server's version, such as v1.35.4-eks-3025e55; empty if it is unknown.

    kube-scheduler may not be newer than the API server: https://kubernetes.io/releases/version-skew-policy/
    """
    release = _RELEASE.match(version)
    return f"registry.k8s.io/kube-scheduler:{release[0]}" if release else ""


def mounted_tls(*, client: object, ca: object) -> Entry | None:
    """Return the extender's `tlsConfig` with paths in the container. client, ca: whether these files exist there."""
    entry: Entry = {"certFile": f"{TLS_FOLDER}/tls.crt", "keyFile": f"{TLS_FOLDER}/tls.key"} if client else {}
    return (entry | ({"caFile": f"{CONFIGURATION_FOLDER}/{CA}"} if ca else {})) or None


def manifests(second: SecondScheduler) -> str:
    """Return the manifests in the order of their dependencies, as a YAML stream for `kubectl apply -f -`."""
    values = {
        "NAME": second.name,
        "NAMESPACE": second.namespace,
        "IMAGE": second.image,
        "MEMORY": second.memory,
        "FLAGS": json.dumps(second.flags)[1:-1],
        "TLS_SECRET": _tls_secret(second),
        "HASH": _configuration_hash(second),
    }
    rights, deployment = (
        Template((FILES / file).read_text(encoding="utf-8")).substitute(values)
        for file in ("rights.yaml", "deployment.yaml")
    )
    return "---\n".join((rights, *map(yaml_text, _configuration_objects(second)), deployment))


def chart_values(second: SecondScheduler) -> Document:
    """Return the Helm chart's values for this scheduler. A client certificate must be in an existing Secret."""
    scheduler = {
        "name": second.name,
        "image": second.image,
        "memory": second.memory,
        "flags": list(second.flags),
        "tlsSecret": second.client_secret,
        "ca": second.ca,
        "configuration": second.configuration,
    }
    return {"scheduler": {name: value for name, value in scheduler.items() if value}}


def _tls_secret(second: SecondScheduler) -> str:
    return second.client_secret or f"{second.name}-tls"


def _configuration_objects(second: SecondScheduler) -> list[Document]:
    """Return a ConfigMap with the public files, and Secrets with the secret files."""
    texts = {CONFIGURATION: second.configuration} | ({CA: second.ca} if second.ca else {})
    metadata = {"name": second.name, "namespace": second.namespace}
    found: list[Document] = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts}]
    if second.has_password:
        found = [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "stringData": texts}]
    if second.client is not None:
        certificate, key = (b64encode(each).decode() for each in second.client)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {**metadata, "name": _tls_secret(second)}}
        found.append({**secret, "type": "kubernetes.io/tls", "data": {"tls.crt": certificate, "tls.key": key}})
    return found


def _configuration_hash(second: SecondScheduler) -> str:
    """Hash the configuration. A changed hash restarts the Deployment, because kube-scheduler reads its files once.

    The hash does not include secrets: otherwise a reader of the Deployment could guess passwords and compare hashes.
    """
    public = _CREDENTIALS.sub("//", second.configuration)
    certificate = second.client[0] if second.client is not None else b""
    return hashlib.sha256(f"{public}\0{second.ca}\0".encode() + certificate).hexdigest()[:16]
