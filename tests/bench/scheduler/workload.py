"""Nodes and pods at the API server, and events of nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event, Thread, local
from typing import TypeVar

import urllib3

from tests.bench import cluster
from tests.bench.cluster import Manifest
from tests.bench.scheduler.cases import Pods
from tests.e2e.berth.label_priority import LABEL
from tests.e2e.kubernetes.kubernetes_api import ApiError, Credentials, JsonObject, KubernetesApi

COUNTED = "example.com/slot"
COUNTED_NODES, SLOTS = 100, 8
"""So many nodes have so many units of the counted resource."""

ALL_SLOTS = COUNTED_NODES * SLOTS

CLIENTS = 4
MIXED_CONTROLLERS = tuple(
    # Required terms may leave a pod pending: then the time would be that of the back-off.
    index
    for index in range(cluster.CONTROLLERS)
    if index % 10 != 2 and index % 40 != 3
)
MEASURED = {"bench": "measured"}
PENDING = "pending-"
"""What the names of pods begin with that Berth rejects on every node."""

PODS_PATH, NODES_PATH = "/api/v1/namespaces/default/pods", "/api/v1/nodes"

T = TypeVar("T")


def node_manifest(index: int) -> Manifest:
    """A node that kube-scheduler itself never rejects: so an answer that is always the same is valid. Every fourth has
    no priority label."""
    manifest = cluster.node_manifest(index)
    manifest["spec"] = {}
    counted = {COUNTED: str(SLOTS)} if index < COUNTED_NODES else {}
    allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110", **counted}
    manifest["status"] |= {
        "allocatable": allocatable,
        "capacity": allocatable,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return manifest


def pod_manifest(number: int, pods: Pods) -> Manifest:
    """The pod with this number."""
    controller = cluster.PLAIN if pods is Pods.IDENTICAL else MIXED_CONTROLLERS[number % len(MIXED_CONTROLLERS)]
    manifest = cluster.pod_manifest(controller)
    container = manifest["spec"]["containers"][0]
    del manifest["spec"]["volumes"], container["volumeMounts"]
    labels = manifest["metadata"]["labels"] | MEASURED
    return {"metadata": {"name": f"measured-{number}", "labels": labels}, "spec": manifest["spec"]}


def counted_pod_manifest(number: int, scheduler: str) -> Manifest:
    """It requests one unit of the counted resource, and belongs to this scheduler."""
    manifest = pod_manifest(number, Pods.IDENTICAL)
    manifest["spec"]["schedulerName"] = scheduler
    manifest["spec"]["containers"][0]["resources"]["limits"] = {COUNTED: "1"}
    return manifest


def ruled_pod_manifest(number: int, scheduler: str) -> Manifest:
    """It belongs to this scheduler, and shares its node with none of its like."""
    manifest = pod_manifest(number, Pods.IDENTICAL)
    term = {"labelSelector": {"matchLabels": MEASURED}, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    manifest["spec"] |= {"schedulerName": scheduler, "affinity": {"podAntiAffinity": required}}
    return manifest


def pending_manifest(number: int) -> Manifest:
    """A pod that asks for a label that no node has."""
    manifest = pod_manifest(number, Pods.IDENTICAL)
    manifest["metadata"] = {"name": f"{PENDING}{number}", "labels": {"bench": "pending"}}
    manifest["spec"]["nodeSelector"] = {"bench": "nowhere"}
    return manifest


def overcommitted(units: Mapping[str, int]) -> int:
    """How many nodes have more than they have slots. units: by node."""
    slots = {cluster.node_name(index): SLOTS for index in range(COUNTED_NODES)}
    return sum(number > slots.get(node, 0) for node, number in units.items())


class Workload:
    """One API server, by several connections."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._nodes = 0
        self._own = local()

    @property
    def api(self) -> KubernetesApi:
        """This thread's."""
        if not hasattr(self._own, "api"):
            self._own.api = KubernetesApi(self._credentials)
        api: KubernetesApi = self._own.api
        return api

    def set_nodes(self, count: int) -> None:
        """Create what is missing of the first so many nodes, or delete what is too much."""
        added = [node_manifest(index) for index in range(self._nodes, count)]
        surplus = [cluster.node_name(index) for index in range(count, self._nodes)]
        self._each(lambda node: self.api.create(NODES_PATH, node), added)
        self._each(lambda name: self.api.delete(f"{NODES_PATH}/{name}"), surplus)
        self._nodes = count

    def create_pods(self, manifests: Sequence[Manifest]) -> None:
        """Returns when the API server has them."""
        self._each(lambda pod: self.api.create(PODS_PATH, pod), manifests)

    def clear(self) -> None:
        """Delete all pods."""
        self.api.delete(PODS_PATH, {"gracePeriodSeconds": "0"})
        while self.pods():
            time.sleep(0.1)

    def pods(self) -> list[JsonObject]:
        """All of them."""
        found: list[JsonObject] = self.api.get(PODS_PATH)["items"]
        return found

    @contextmanager
    def events(self, per_second: int) -> Iterator[None]:
        """Change the priority label of so many nodes a second, one after another, until the block ends."""
        nodes = [index for index in range(self._nodes) if LABEL in node_manifest(index)["metadata"]["labels"]]

        def change(number: int) -> None:
            path = f"{NODES_PATH}/{cluster.node_name(nodes[number % len(nodes)])}"
            self.api.patch(path, {"metadata": {"labels": {LABEL: str(10 + number % 2 * 10)}}})

        if per_second:
            with _repeated(change, 1 / per_second):
                yield
        else:
            yield

    @staticmethod
    def _each(call: Callable[[T], object], those: Sequence[T]) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(call, those))


@contextmanager
def _repeated(change: Callable[[int], None], seconds: float) -> Iterator[None]:
    """Call it every so many seconds until the block ends; what the API server refuses is left out."""
    ended = Event()

    def run() -> None:
        for number in range(10**9):
            if ended.wait(seconds):
                return
            with suppress(ApiError, urllib3.exceptions.HTTPError):
                change(number)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
