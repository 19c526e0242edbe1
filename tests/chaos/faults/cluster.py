"""Faults by sudden changes of the cluster: nodes, a namespace, many pods, the ledger's Lease, a second server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.chaos.cluster_model import NODES, SCHEDULERS, drawn_request, node, pod
from tests.chaos.set_up import SetUp
from tests.chaos.workload import NOW, path_of
from tests.e2e.berth.identities import COUNTED_RESOURCES
from tests.e2e.kubernetes.kubernetes_api import ApiError
from tests.e2e.kubernetes.manifests import apply_manifests, delete_manifests, read_manifests


@contextmanager
def nodes_come_and_go(set_up: SetUp) -> Iterator[None]:
    """Delete nodes and, like the garbage collector, their pods, and create nodes with the same names."""
    chosen = set_up.random.sample(NODES[1:], 2)
    for name in chosen:
        set_up.api.delete(f"/api/v1/nodes/{name}")
        _collect_pods_of(set_up, name)
    yield
    for name in chosen:
        # These pods were bound by a component that had not seen the node's deletion yet.
        _collect_pods_of(set_up, name)
        set_up.api.create("/api/v1/nodes", node(name))


def _collect_pods_of(set_up: SetUp, name: str) -> None:
    for each in set_up.api.get("/api/v1/pods")["items"]:
        if each["spec"].get("nodeName") == name:
            set_up.workload.forget(path_of(each))
            set_up.workload.delete(path_of(each))


@contextmanager
def namespace_deleted(set_up: SetUp) -> Iterator[None]:
    """Delete a namespace while its pods are being bound, and complete the deletion like the namespace controller."""
    name = f"short-lived-{set_up.random.randrange(10**6)}"
    path = f"/api/v1/namespaces/{name}"
    set_up.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    for number in range(20):
        one = pod(f"pod-{number}", drawn_request(set_up.random), SCHEDULERS[number % 2])
        set_up.api.create(f"{path}/pods", one)
    set_up.api.delete(path)
    yield
    for each in set_up.api.get(f"{path}/pods")["items"]:
        with suppress(ApiError):
            set_up.api.delete(f"{path}/pods/{each['metadata']['name']}", NOW)
    found = set_up.api.get(path)
    found["spec"]["finalizers"] = []
    set_up.api.replace(f"{path}/finalize", found)


@contextmanager
def burst(set_up: SetUp) -> Iterator[None]:
    """Create more pods than there is room for at once, for two schedulers that do not know of each other."""
    set_up.workload.burst(40)
    yield


@contextmanager
def lease_deleted(set_up: SetUp) -> Iterator[None]:
    """Delete the Lease that names the ledger: no store may count until its manifest is applied again."""
    lease = [each for each in read_manifests(COUNTED_RESOURCES) if each["kind"] == "Lease"]
    delete_manifests(set_up.api, lease)
    yield
    apply_manifests(set_up.api, lease)


@contextmanager
def another_store(set_up: SetUp) -> Iterator[None]:
    """Let the second scheduler call a `berth serve` with a separate store, on the same cluster."""
    scheduler = set_up.schedulers[1]
    with set_up.with_own_store() as url_prefix, scheduler.calling(url_prefix):
        set_up.workload.burst(20)
        yield
