"""Nodes and pods at the API server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import TypeVar

from tests.bench import cluster
from tests.bench.cluster import Manifest
from tests.e2e.kubernetes.kubernetes_api import Credentials, JsonObject, KubernetesApi

COUNTED = "example.com/slot"
COUNTED_NODES, SLOTS = 100, 8
"""Number of nodes with the counted resource, and the units of each."""

MAX_COUNTED = COUNTED_NODES * SLOTS * 3 // 4
CLIENTS = 4
MEASURED = {"bench": "measured"}
PODS_PATH, NODES_PATH = "/api/v1/namespaces/default/pods", "/api/v1/nodes"

T = TypeVar("T")


def node_manifest(index: int) -> Manifest:
    """Make a node that kube-scheduler itself never rejects, so that a constant answer is valid. Every fourth node lacks
    the priority label."""
    manifest = cluster.node_manifest(index)
    manifest["spec"] = {}
    counted = {COUNTED: str(SLOTS)} if index < COUNTED_NODES else {}
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110", **counted}
    ready = [{"type": "Ready", "status": "True"}]
    manifest["status"] |= {"allocatable": allocatable, "capacity": allocatable, "conditions": ready}
    return manifest


def pod_manifest(number: int) -> Manifest:
    """Return the pod with this number; one controller owns all pods."""
    manifest = cluster.plain_pod()
    container = manifest["spec"]["containers"][0]
    del manifest["spec"]["volumes"], container["volumeMounts"]
    labels = manifest["metadata"]["labels"] | MEASURED
    return {"metadata": {"name": f"measured-{number}", "labels": labels}, "spec": manifest["spec"]}


def counted_pod_manifest(number: int, scheduler: str) -> Manifest:
    """Make a pod of this scheduler that requests one unit of the counted resource."""
    manifest = pod_manifest(number)
    manifest["spec"]["schedulerName"] = scheduler
    manifest["spec"]["containers"][0]["resources"]["limits"] = {COUNTED: "1"}
    return manifest


def ruled_pod_manifest(number: int, scheduler: str) -> Manifest:
    """Make a pod of this scheduler that does not share its node with others of its kind."""
    manifest = pod_manifest(number)
    term = {"labelSelector": {"matchLabels": MEASURED}, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    manifest["spec"] |= {"schedulerName": scheduler, "affinity": {"podAntiAffinity": required}}
    return manifest


def overcommitted(units: Mapping[str, int]) -> int:
    """Return the number of nodes with more units in use than slots. units: by node."""
    slots = {cluster.node_name(index): SLOTS for index in range(COUNTED_NODES)}
    return sum(number > slots.get(node, 0) for node, number in units.items())


class Workload:
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._nodes = 0
        self._own = local()

    @property
    def api(self) -> KubernetesApi:
        if not hasattr(self._own, "api"):
            self._own.api = KubernetesApi(self._credentials)
        api: KubernetesApi = self._own.api
        return api

    def set_nodes(self, count: int) -> None:
        """Create the missing nodes of the first `count`, or delete the surplus."""
        added = [node_manifest(index) for index in range(self._nodes, count)]
        surplus = [cluster.node_name(index) for index in range(count, self._nodes)]
        self._each(lambda node: self.api.create(NODES_PATH, node), added)
        self._each(lambda name: self.api.delete(f"{NODES_PATH}/{name}"), surplus)
        self._nodes = count

    def create_pods(self, manifests: Sequence[Manifest]) -> None:
        self._each(lambda pod: self.api.create(PODS_PATH, pod), manifests)

    def clear(self) -> None:
        self.api.delete(PODS_PATH, {"gracePeriodSeconds": "0"})
        while self.pods():
            time.sleep(0.1)

    def pods(self) -> list[JsonObject]:
        found: list[JsonObject] = self.api.get(PODS_PATH)["items"]
        return found

    @staticmethod
    def _each(call: Callable[[T], object], those: Sequence[T]) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(call, those))
