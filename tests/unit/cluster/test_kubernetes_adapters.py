"""What the adapters of the Kubernetes API make of its answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server import ApiServer
from berth.cluster.kubernetes_binder import KubernetesBinder
from berth.cluster.kubernetes_nodes import PAGE_SIZE, KubernetesNodes
from berth.extender.ports import Binding, Refused, Unanswered
from berth.nodecache.cluster import ClusterUnavailable
from tests.builders.nodes import node_object
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock

BINDING = Binding("ml", "train-0", "uid-train-0", "n10")


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        kubernetes.nodes = [node_object(f"n{index}") for index in range(PAGE_SIZE + 1)]
        yield kubernetes


@pytest.fixture
def api(kubernetes: KubernetesOnLoopback) -> ApiServer:
    configuration = Configuration()
    configuration.host = kubernetes.host
    return ApiServer(configuration, HandDrivenClock())


def test_nodes_are_listed_a_page_at_a_time(kubernetes: KubernetesOnLoopback, api: ApiServer) -> None:
    assert len(KubernetesNodes(api).list().nodes) == PAGE_SIZE + 1
    assert [(request.path, request.query) for request in kubernetes.requests] == [
        ("/api/v1/nodes", {"limit": "500"}),
        ("/api/v1/nodes", {"limit": "500", "continue": "token-500"}),
    ]


def test_a_list_that_expired_between_its_pages_starts_again(kubernetes: KubernetesOnLoopback, api: ApiServer) -> None:
    kubernetes.faults.append(Fault("GET", 410, "The provided continue parameter is too old", where="continue="))
    listed = KubernetesNodes(api).list()
    assert [node.name for node in listed.nodes] == [f"n{index}" for index in range(PAGE_SIZE + 1)]
    assert ["continue" in request.query for request in kubernetes.requests] == [False, True, False, True]


def test_a_list_that_expires_every_time_is_given_up(kubernetes: KubernetesOnLoopback, api: ApiServer) -> None:
    kubernetes.faults += [Fault("GET", 410, "too old", where="continue=")] * 3
    with pytest.raises(ClusterUnavailable) as caught:
        KubernetesNodes(api).list()
    assert str(caught.value) == (
        "the list of nodes expired between its pages, three times over; the API server is overloaded"
    )
    assert len(kubernetes.requests) == 6


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            Fault("GET", 401, "Unauthorized"),
            "Unauthorized; give the watcher's user the verb list on nodes",
            id="not authenticated",
        ),
        pytest.param(
            Fault("GET", 403, 'nodes is forbidden: User "berth" cannot list resource "nodes"'),
            'nodes is forbidden: User "berth" cannot list resource "nodes"; '
            "give the watcher's user the verb list on nodes",
            id="not allowed",
        ),
        pytest.param(Fault("GET", 500, "etcd is away"), "etcd is away", id="a server error"),
        pytest.param(Fault("GET", 404, "not an API server"), "not an API server", id="not found"),
        pytest.param(Fault("GET"), "broke", id="a broken connection"),
    ],
)
def test_what_keeps_nodes_from_being_listed_is_told(
    kubernetes: KubernetesOnLoopback, api: ApiServer, fault: Fault, message: str
) -> None:
    kubernetes.faults.append(fault)
    with pytest.raises(ClusterUnavailable) as caught:
        KubernetesNodes(api).list()
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"<html>log in</html>", b"", b"{}", b"[]"])
def test_an_answer_that_is_no_list_of_nodes_is_not_an_empty_cluster(
    kubernetes: KubernetesOnLoopback, api: ApiServer, content: bytes
) -> None:
    """Published, it would take every node away from every pod."""
    kubernetes.faults.append(Fault("GET", 200, raw=content))
    with pytest.raises(ClusterUnavailable):
        KubernetesNodes(api).list()


def test_null_for_the_items_of_a_list_is_an_empty_cluster(kubernetes: KubernetesOnLoopback, api: ApiServer) -> None:
    """Go writes a nil slice so."""
    content = b'{"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": null}'
    kubernetes.faults.append(Fault("GET", 200, raw=content))
    assert KubernetesNodes(api).list().nodes == ()


def test_a_broken_second_page_publishes_no_half_of_the_nodes(kubernetes: KubernetesOnLoopback, api: ApiServer) -> None:
    kubernetes.faults.append(Fault("GET", 500, "the second page broke", where="continue="))
    with pytest.raises(ClusterUnavailable, match="the second page broke"):
        KubernetesNodes(api).list()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429])
def test_a_client_error_is_a_refusal_in_the_servers_own_words(
    kubernetes: KubernetesOnLoopback, api: ApiServer, status: int
) -> None:
    kubernetes.faults += [Fault("POST", status, "no"), Fault("GET", status, "no")]
    binder = KubernetesBinder(api)
    assert binder.create_binding(BINDING, 5) == Refused(status, "no")
    assert binder.assignment("ml", "train-0", 5) == Refused(status, "no")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_does_not_tell_whether_it_happened(
    kubernetes: KubernetesOnLoopback, api: ApiServer, status: int
) -> None:
    kubernetes.faults += [Fault("POST", status, "perhaps"), Fault("GET", status, "perhaps")]
    binder = KubernetesBinder(api)
    assert binder.create_binding(BINDING, 5) == Unanswered("perhaps")
    assert binder.assignment("ml", "train-0", 5) == Unanswered("perhaps")


@pytest.mark.parametrize("content", [b"<html>log in</html>", b"", b"[]", b"{}", b'{"metadata": 7, "spec": 7}'])
def test_an_answer_that_is_no_pod_tells_nothing_of_the_pod(
    kubernetes: KubernetesOnLoopback, api: ApiServer, content: bytes
) -> None:
    """Not even that it was replaced by another."""
    kubernetes.faults.append(Fault("GET", 200, raw=content))
    assert isinstance(KubernetesBinder(api).assignment("ml", "train-0", 5), Unanswered)
