"""Kubeconfig files."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

import yaml

SECRET = "s3cr3t-t0k3n"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
CERTIFICATE = base64.b64encode(PEM.encode()).decode()


def kubeconfig(server: str, user: Mapping[str, object] | None = None, **cluster: object) -> dict[str, object]:
    """Return a kubeconfig of one cluster, one user and one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "berth", "user": dict(user or {"token": "token-1"})}],
        "contexts": [{"name": "only", "context": {"cluster": "here", "user": "berth"}}],
        "current-context": "only",
    }


def kubeconfig_for(server: str, directory: Path, authority: str = "") -> Path:
    """Write a kubeconfig file. authority: the server's, in the format of `certificate-authority-data`."""
    path = directory / "kubeconfig"
    cluster: dict[str, object] = {"certificate-authority-data": authority} if authority else {}
    path.write_text(yaml.safe_dump(kubeconfig(server, None, **cluster)))
    return path


def exec_plugin(*command: str) -> dict[str, object]:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": command[0],
            "args": list(command[1:]),
            "interactiveMode": "Never",
        }
    }
