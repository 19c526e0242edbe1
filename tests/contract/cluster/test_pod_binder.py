"""Contract of the port PodBinder, on the dump and on the Kubernetes API. The tests use only the port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from berth.cluster.dump_cluster import DumpCluster
from berth.cluster.kubernetes_pods import KubernetesBinder
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from tests.fakes.api_server import Fault, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock

SECONDS = 5.0
WAITING = Binding("ml", "waiting", "uid-waiting", "n10")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The port of a cluster with the pods ml/waiting, and ml/running on n20. vanish: makes the cluster unavailable."""

    binder: PodBinder
    vanish: Callable[[], None]


@pytest.fixture(params=["dump", "Kubernetes API"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    if request.param == "dump":
        path = tmp_path / "cluster.json"
        pods = [
            {"kind": "Pod", "metadata": {"name": "waiting", "namespace": "ml", "uid": "uid-waiting"}, "spec": {}},
            {
                "kind": "Pod",
                "metadata": {"name": "running", "namespace": "ml", "uid": "uid-running"},
                "spec": {"nodeName": "n20"},
            },
        ]
        path.write_bytes(orjson.dumps({"kind": "List", "items": pods}))
        yield Cluster(DumpCluster(path), path.unlink)
        return
    with kubernetes_on_loopback() as kubernetes:
        kubernetes.add_pod("waiting", "uid-waiting")
        kubernetes.add_pod("running", "uid-running", "n20")

        def vanish() -> None:
            kubernetes.faults += [Fault("GET"), Fault("POST")]

        yield Cluster(KubernetesBinder(kubernetes.client(HandDrivenClock())), vanish)


def place(cluster: Cluster, namespace: str, name: str) -> tuple[str, str]:
    found = cluster.binder.pod(namespace, name, SECONDS)
    assert isinstance(found, FoundPod)
    return found.uid, found.node


def test_unbound_pod_is_returned_without_a_node(cluster: Cluster) -> None:
    assert place(cluster, "ml", "waiting") == ("uid-waiting", "")


def test_running_pod_is_returned_with_its_node(cluster: Cluster) -> None:
    assert place(cluster, "ml", "running") == ("uid-running", "n20")


def test_binding_assigns_pod_to_node(cluster: Cluster) -> None:
    assert cluster.binder.create_binding(WAITING, SECONDS) == Created()
    assert place(cluster, "ml", "waiting") == ("uid-waiting", "n10")


@pytest.mark.parametrize(
    ("binding", "node"),
    [
        pytest.param(Binding("ml", "running", "uid-running", "n10"), "n20", id="to another node"),
        pytest.param(Binding("ml", "running", "uid-running", "n20"), "n20", id="to the same node"),
    ],
)
def test_refuses_binding_of_bound_pod(cluster: Cluster, binding: Binding, node: str) -> None:
    refused = cluster.binder.create_binding(binding, SECONDS)
    assert isinstance(refused, Refused)
    assert refused.status == 409
    assert f'already assigned to node "{node}"' in refused.message
    assert place(cluster, "ml", "running") == ("uid-running", node)


def test_rejects_binding_if_uid_differs(cluster: Cluster) -> None:
    refused = cluster.binder.create_binding(Binding("ml", "waiting", "uid-of-another", "n10"), SECONDS)
    assert isinstance(refused, Refused)
    assert refused.status == 409
    assert "UID" in refused.message
    assert place(cluster, "ml", "waiting") == ("uid-waiting", "")


@pytest.mark.parametrize(("namespace", "name"), [("ml", "absent"), ("elsewhere", "waiting")])
def test_missing_pod_is_reported_as_404_with_the_pods_name(cluster: Cluster, namespace: str, name: str) -> None:
    wanted = Refused(404, f'pods "{name}" not found')
    assert cluster.binder.pod(namespace, name, SECONDS) == wanted
    assert cluster.binder.create_binding(Binding(namespace, name, "uid", "n10"), SECONDS) == wanted


def test_both_calls_return_unanswered_if_the_cluster_does_not_respond(cluster: Cluster) -> None:
    cluster.vanish()
    assert isinstance(cluster.binder.create_binding(WAITING, SECONDS), Unanswered)
    assert isinstance(cluster.binder.pod("ml", "waiting", SECONDS), Unanswered)
