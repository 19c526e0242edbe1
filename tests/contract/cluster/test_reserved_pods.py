"""Contract of the port ReservedPods, on the dump, the Kubernetes API and the clusters of the simulations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from berth.cluster import kubernetes_pods as kubernetes_reserved_pods
from berth.cluster.dump_cluster import DumpCluster, DumpReservedPods
from berth.cluster.kubernetes_pods import KubernetesReservedPods
from berth.pods import FoundPod, ReservedPods, Unanswered
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.counted_cluster import CountedCluster
from tests.fakes.pods import PodsInMemory

NAMES = ("waiting", "running", "ended", "leaving", "unwanted")


def _manifests() -> list[dict[str, object]]:
    nodes, phases = dict.fromkeys(("running", "ended", "leaving"), "n1"), {"ended": "Succeeded"}
    leaving = {"leaving": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "ml",
                "uid": f"uid-{name}",
                "resourceVersion": "1",
                **leaving.get(name, {}),
            },
            "spec": {"nodeName": nodes.get(name, "")},
            "status": {"phase": phases.get(name, "Pending")},
        }
        for name in NAMES
    ]


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        kubernetes.pods = {("ml", name): found for name, found in zip(NAMES, _manifests(), strict=True)}
        yield kubernetes


@pytest.fixture(params=["dump", "Kubernetes API", "counted cluster", "pods in memory"])
def pods(
    request: pytest.FixtureRequest, kubernetes: KubernetesOnLoopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ReservedPods:
    match request.param:
        case "dump":
            path = tmp_path / "cluster.json"
            path.write_bytes(orjson.dumps({"kind": "List", "items": _manifests()}))
            return DumpReservedPods(DumpCluster(path))
        case "Kubernetes API":
            monkeypatch.setattr(kubernetes_reserved_pods, "PAGE_SIZE", 2)
            return _api(kubernetes)
        case "counted cluster":
            cluster = CountedCluster()
            for name in NAMES:
                cluster.create_pod(name)
            for name in ("running", "ended", "leaving"):
                cluster.place(name, "n1")
            cluster.finish("ended")
            cluster.begin_deletion("leaving")
            return cluster
        case _:
            stored = PodsInMemory()
            for name in NAMES:
                stored.add(name, f"uid-{name}", {}, node="" if name in ("waiting", "unwanted") else "n1")
            stored.change("ended", phase="Succeeded")
            stored.change("leaving", deleting=True)
            return stored


def _api(kubernetes: KubernetesOnLoopback) -> KubernetesReservedPods:
    return KubernetesReservedPods(kubernetes.client(), time.time)


def _is_wanted(pod: Pod) -> bool:
    return pod.name != "unwanted"


def test_lists_matching_pods_that_have_not_ended(pods: ReservedPods) -> None:
    found = pods.list_pods(_is_wanted)
    assert not isinstance(found, Unanswered)
    assert {(pod.namespace, pod.name) for pod in found} == {("ml", "waiting"), ("ml", "running"), ("ml", "leaving")}
    assert all(pod.uid.startswith(f"uid-{pod.name}") for pod in found)


@pytest.mark.parametrize(
    ("name", "node", "finished", "deleting"),
    [
        ("waiting", "", False, False),
        ("running", "n1", False, False),
        ("ended", "n1", True, False),
        ("leaving", "n1", False, True),
    ],
)
def test_returns_a_pods_node_and_whether_the_pod_has_finished(
    pods: ReservedPods, name: str, node: str, finished: bool, deleting: bool
) -> None:
    found = pods.find(PodKey("ml", name, f"uid-{name}"))
    assert isinstance(found, FoundPod)
    assert (found.node, found.finished, found.deleting) == (node, finished, deleting)
    assert found.uid.startswith(f"uid-{name}")


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(Fault("GET"), "broke", id="no response"),
        pytest.param(Fault("GET", 403, "pods is forbidden"), "the verb list on pods", id="missing permission"),
        pytest.param(Fault("GET", 410, "expired", where="continue="), "expired", id="expired between two pages"),
        pytest.param(Fault("GET", 200, raw=b"{}"), "list", id="not a list"),
    ],
)
def test_returns_unanswered_if_the_list_is_incomplete(
    kubernetes: KubernetesOnLoopback, monkeypatch: pytest.MonkeyPatch, fault: Fault, cause: str
) -> None:
    monkeypatch.setattr(kubernetes_reserved_pods, "PAGE_SIZE", 2)
    kubernetes.faults.append(fault)
    found = _api(kubernetes).list_pods(_is_wanted)
    assert isinstance(found, Unanswered)
    assert cause in found.cause


def test_list_request_requires_the_latest_state(kubernetes: KubernetesOnLoopback) -> None:
    """The API server may answer a list with a resourceVersion from a stale cache."""
    assert PodKey("ml", "waiting", "uid-waiting") in _api(kubernetes).list_pods(_is_wanted)  # type: ignore[operator]
    assert [request.query for request in kubernetes.requests] == [{"limit": "500"}]
