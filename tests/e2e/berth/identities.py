"""Berth's two users in the cluster with only the rights of examples/, so that a missing right fails a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.kubernetes_api import Credentials, KubernetesApi
from tests.e2e.kubernetes.manifests import apply_manifests, delete_manifests, read_manifests

from .berth_serve import BerthServe

EXAMPLES = Path(__file__).parents[3] / "examples"
RBAC = EXAMPLES / "rbac.yaml"
COUNTED_RESOURCES = EXAMPLES / "rbac-counted-resources.yaml"

NAMESPACE = "kube-system"
WATCHER, BINDER = "berth-watcher", "berth-binder"


@dataclass(frozen=True)
class Identities:
    """The credentials of the watcher and of the binder."""

    watcher: Credentials
    binder: Credentials

    def through(self, server: str) -> Identities:
        """Return the same users with the address of a proxy."""
        return Identities(replace(self.watcher, server=server), replace(self.binder, server=server))


def identities(control_plane: ControlPlane) -> Identities:
    """Apply the manifests and return the users; repeated calls do not change anything."""
    apply_manifests(KubernetesApi(control_plane.credentials()), read_manifests(RBAC))
    return Identities(
        watcher=control_plane.service_account(NAMESPACE, WATCHER),
        binder=control_plane.service_account(NAMESPACE, BINDER),
    )


@contextmanager
def counted_resources(control_plane: ControlPlane) -> Iterator[None]:
    """Grant the watcher the rights for counted resources until the context exits."""
    api, manifests = KubernetesApi(control_plane.credentials()), read_manifests(COUNTED_RESOURCES)
    apply_manifests(api, manifests)
    try:
        yield
    finally:
        delete_manifests(api, manifests)


def serve(control_plane: ControlPlane, directory: Path, **options: Any) -> BerthServe:
    """Return `berth serve` with a kubeconfig for each user. options: those of BerthServe."""
    found = identities(control_plane)
    return BerthServe(
        control_plane.kubeconfig(found.watcher), directory, binder=control_plane.kubeconfig(found.binder), **options
    )
