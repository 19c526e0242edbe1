"""Two of `berth serve`, each with a ledger of its own, on one cluster: only one of them counts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.ledger.lease import counted_elsewhere

from .berth.berth_serve import BerthServe
from .berth.endpoint import Endpoint
from .berth.identities import counted_resources, serve
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

RESOURCE = "example.com/seat"
DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {RESOURCE}
"""
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-ledger"

NODES = 10
NOT_READY = "ledger of counted resources"
START_SECONDS = 30
# The Lease expires after 30 s, and the next attempt to acquire it comes up to 11 s later. The rest is a busy machine.
TAKEOVER_SECONDS = 75
POLL_SECONDS = 0.5


class Server:
    """One `berth serve`, and direct calls of its verbs."""

    def __init__(self, control_plane: ControlPlane, directory: Path, *, is_healthy: bool = True) -> None:
        directory.mkdir()
        self.process: BerthServe = serve(control_plane, directory, document=DOCUMENT, is_healthy=is_healthy)

    def __enter__(self) -> Server:
        self.process.__enter__()
        self._verbs = Endpoint(self.process.url_prefix)
        self._root = Endpoint(self.process.url_prefix.removesuffix("/scheduler"))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def bind(self, pod: Pod, node: str) -> str:
        """The Error; empty: the pod is on the node."""
        request = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        error: str = self._call("bind", request)["Error"]
        return error

    def filter(self, pod: dict[str, Any], node: str) -> dict[str, Any]:
        return self._call("filter", {"Pod": pod, "Nodes": None, "NodeNames": [node]})

    def health(self) -> dict[str, Any]:
        answer: dict[str, Any] = self._root.get("healthz").json()
        return answer

    def _call(self, verb: str, request: object) -> dict[str, Any]:
        answer: dict[str, Any] = self._verbs.post(verb, json.dumps(request).encode()).json()
        return answer


@pytest.fixture(autouse=True)
def _rights(control_plane: ControlPlane) -> Iterator[None]:
    with counted_resources(control_plane):
        yield


@pytest.fixture
def first(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Server]:
    with Server(control_plane, tmp_path / "first") as server:
        yield server


@pytest.fixture
def second(control_plane: ControlPlane, tmp_path: Path) -> Server:
    return Server(control_plane, tmp_path / "second", is_healthy=False)


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


def test_second_store_refuses_to_count_and_names_the_first(
    cluster: Cluster, first: Server, second: Server, api: KubernetesApi
) -> None:
    nodes = [cluster.create_node(f"node-{number}", extended={RESOURCE: "1"}) for number in range(NODES)]
    held = _pod(cluster, "held")
    _wait_until(lambda: first.bind(held, nodes[0]) == "", START_SECONDS)
    with second:
        probe = _pod(cluster, "probe")
        _wait_until(lambda: NOT_READY not in second.bind(probe, nodes[0]), START_SECONDS)
        errors = []
        for number, node in enumerate(nodes[1:]):
            assert first.bind(_pod(cluster, f"first-{number}"), node) == ""
            # At once: the second server's watcher has not seen the first server's pod.
            errors.append(second.bind(_pod(cluster, f"second-{number}"), node))
        assert "" not in errors, f"{errors.count('')} of {NODES - 1} nodes are overcommitted"
        holder = api.get(LEASE)["spec"]["holderIdentity"]
        assert set(errors) == {counted_elsewhere(holder)}
        _wait_until(lambda: second.health()["status"] == "failure-counted-elsewhere", START_SECONDS)
        assert second.health()["reason"] == counted_elsewhere(holder)
        assert second.filter(cluster.object(probe), nodes[0])["Error"] == counted_elsewhere(holder)
        assert second.bind(cluster.create_pod("uncounted", scheduler="absent"), nodes[0]) == ""
        assert first.health()["status"] == "ok"


@pytest.mark.parametrize("is_killed", [pytest.param(False, id="stopped"), pytest.param(True, id="killed")])
def test_second_store_takes_over_after_first_has_ended(
    cluster: Cluster, first: Server, second: Server, *, is_killed: bool
) -> None:
    node = cluster.create_node("node", extended={RESOURCE: "1"})
    held, pending = _pod(cluster, "held"), _pod(cluster, "pending")
    _wait_until(lambda: first.bind(held, node) == "", START_SECONDS)
    with second:
        if is_killed:
            first.process.kill()
        else:
            first.process.stop()
        _wait_until(lambda: second.bind(pending, node) == f"Insufficient {RESOURCE}", TAKEOVER_SECONDS)
        cluster.end_containers(held)
        _wait_until(lambda: second.bind(pending, node) == "", START_SECONDS)
        assert second.health()["status"] == "ok"


def _pod(cluster: Cluster, name: str) -> Pod:
    return cluster.create_pod(name, scheduler="absent", extended={RESOURCE: "1"})


def _wait_until(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds:g} s"
        time.sleep(POLL_SECONDS)
