"""The port Nodes, held by the dump and by the Kubernetes API. The cases know the port only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server import ApiServer
from berth.cluster.dump import DumpCluster
from berth.cluster.kubernetes_nodes import PAGE_SIZE, KubernetesNodes
from berth.nodecache.cluster import ClusterUnavailable, Nodes
from tests.builders.nodes import PRIORITY, labelled_object, node_object
from tests.fakes.api_server import Fault, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock


@dataclass(frozen=True, slots=True)
class Cluster:
    """The port, how to set what the cluster holds, and how to take the cluster away."""

    nodes: Nodes
    hold: Callable[[list[object]], None]
    vanish: Callable[[], None]


@pytest.fixture(params=["dump", "Kubernetes API"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    if request.param == "dump":
        path = tmp_path / "cluster.json"

        def write(nodes: list[object]) -> None:
            pod = {"kind": "Pod", "metadata": {"name": "not-a-node"}}
            objects = [{"kind": "Node", **node} if isinstance(node, dict) else node for node in nodes]
            path.write_bytes(orjson.dumps({"kind": "List", "items": [pod, *objects]}))

        yield Cluster(DumpCluster(path), write, path.unlink)
        return
    with kubernetes_on_loopback() as kubernetes:
        configuration = Configuration()
        configuration.host = kubernetes.host

        def set_nodes(nodes: list[object]) -> None:
            kubernetes.nodes = nodes

        def vanish() -> None:
            kubernetes.faults += [Fault("GET")] * 3

        yield Cluster(KubernetesNodes(ApiServer(configuration, HandDrivenClock())), set_nodes, vanish)


def test_every_node_is_listed_with_its_labels(cluster: Cluster) -> None:
    cluster.hold([labelled_object("n10", "10"), node_object("plain", {"a": "b"})])
    listed = cluster.nodes.list()
    assert [(node.name, dict(node.labels), node.defect) for node in listed.nodes] == [
        ("n10", {PRIORITY: "10"}, None),
        ("plain", {"a": "b"}, None),
    ]
    assert listed.unreadable == 0
    assert listed.resource_version != ""


def test_a_cluster_without_nodes_is_an_empty_list_and_no_error(cluster: Cluster) -> None:
    cluster.hold([])
    assert cluster.nodes.list().nodes == ()


@pytest.mark.parametrize("number", [PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 2 * PAGE_SIZE + 1])
def test_more_nodes_than_a_page_are_all_listed_once(cluster: Cluster, number: int) -> None:
    names = [f"n{index}" for index in range(number)]
    cluster.hold([node_object(name) for name in names])
    assert [node.name for node in cluster.nodes.list().nodes] == names


def test_a_change_is_seen_by_the_next_list(cluster: Cluster) -> None:
    cluster.hold([labelled_object("n1", "10")])
    before = cluster.nodes.list()
    cluster.hold([labelled_object("n1", "30"), node_object("joined")])
    assert [(node.name, node.labels.get(PRIORITY)) for node in cluster.nodes.list().nodes] == [
        ("n1", "30"),
        ("joined", None),
    ]
    assert [node.labels[PRIORITY] for node in before.nodes] == ["10"]


def test_objects_without_a_name_are_counted_and_hide_no_other(cluster: Cluster) -> None:
    nameless: list[object] = [
        {"metadata": {}},
        {"metadata": None},
        {"metadata": {"name": ""}},
        {"metadata": {"name": 7}},
    ]
    cluster.hold([*nameless, node_object("n1")])
    listed = cluster.nodes.list()
    assert [node.name for node in listed.nodes] == ["n1"]
    assert listed.unreadable == 4


@pytest.mark.parametrize("labels", [{"a": 1}, {"a": None}, {"a": ["b"]}, ["a"], "a"])
def test_labels_of_the_wrong_type_are_a_defect_of_that_node_alone(cluster: Cluster, labels: object) -> None:
    cluster.hold([{"metadata": {"name": "odd", "labels": labels}}, node_object("n1")])
    assert [(node.name, node.defect) for node in cluster.nodes.list().nodes] == [
        ("odd", "node(s) had labels that are not strings"),
        ("n1", None),
    ]


def test_a_cluster_that_cannot_be_read_is_unavailable(cluster: Cluster) -> None:
    cluster.hold([node_object("n1")])
    cluster.nodes.list()
    cluster.vanish()
    with pytest.raises(ClusterUnavailable):
        cluster.nodes.list()


def test_a_cluster_that_is_back_can_be_listed_again(cluster: Cluster) -> None:
    cluster.hold([node_object("n1")])
    cluster.vanish()
    for _ in range(3):
        with pytest.raises(ClusterUnavailable):
            cluster.nodes.list()
    cluster.hold([node_object("n2")])
    assert [node.name for node in cluster.nodes.list().nodes] == ["n2"]
