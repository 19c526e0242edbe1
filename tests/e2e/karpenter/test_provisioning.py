"""Pods that Berth places on nodes that Karpenter adds: which NodePool suits which policy."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.e2e.berth.doctor import doctor_in_process
from tests.e2e.berth.label_priority import LABEL, NO_LABEL, none_available
from tests.e2e.gangs.members import PLACED_SECONDS, Gangs
from tests.e2e.gangs.targets import Figures
from tests.e2e.kubernetes.cluster import Cluster
from tests.e2e.kubernetes.control_plane import ControlPlane

from .conftest import Start
from .karpenter import GPU
from .policies import COUNTED, FLOATING, GANGS, LABELED, LICENCE, SEATS, SEGREGATED, printed, without_labels

NODE_SECONDS = 10.0
NO_INSTANCE_TYPE = "no instance type has enough resources"
NO_SEAT = "Insufficient example.com/seat in the cluster"
RESERVED = "node(s) were reserved for pods that ask for their resources"
FOR_THE_LABEL = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": LABEL, "operator": "Exists"}]}]
            }
        }
    }
}
FOR_GPUS = {"tolerations": [{"key": GPU, "operator": "Exists"}]}


@pytest.mark.parametrize("document", [pytest.param(LABELED, id="label"), pytest.param(COUNTED, id="counted")])
def test_places_pods_on_a_node_of_the_printed_pool(
    document: str, start: Start, cluster: Cluster, figures: Figures
) -> None:
    karpenter = start(document)
    karpenter.apply(*printed(document, "3"))
    extended = {LICENCE: "1"} if document is COUNTED else {}
    if extended:
        karpenter.wait_until_ready("NodeOverlay", "berth")
    began = time.monotonic()
    pods = [cluster.create_pod(f"web-{number}", extended=extended) for number in range(3)]
    [node] = karpenter.wait_for_nodes(1)
    figures.at_most("Karpenter: a node for 3 pods", time.monotonic() - began, NODE_SECONDS)
    assert {*Gangs(cluster, karpenter.api).wait_until_bound(pods).values()} == {node["metadata"]["name"]}
    figures.at_most("Karpenter: 3 pods are placed", time.monotonic() - began, 2 * NODE_SECONDS)


def test_adds_only_one_node_if_the_policy_rejects_this_node(start: Start, cluster: Cluster) -> None:
    karpenter = start(LABELED)
    karpenter.apply(without_labels(printed(LABELED)[0], "other"))
    first = cluster.create_pod("first")
    [node] = karpenter.wait_for_nodes(1)
    cluster.wait_until_unschedulable(first, none_available({NO_LABEL: 1}))
    later = cluster.create_pod("later")
    # Karpenter has simulated the later pod too, and assumes that it fits on this node.
    karpenter.wait_for_event(later.uid, "Nominated", node["metadata"]["name"])
    assert len(karpenter.nodes()) == 1
    assert {cluster.state(pod).node for pod in (first, later)} == {None}


def test_uses_the_labeled_pool_for_pods_whose_affinity_names_the_label(start: Start, cluster: Cluster) -> None:
    karpenter = start(LABELED)
    [pool] = printed(LABELED)
    karpenter.apply(without_labels(pool, "other"))
    pod = cluster.create_pod("web", further=FOR_THE_LABEL)
    karpenter.wait_for_event(pod.uid, "FailedScheduling", f'label "{LABEL}" does not have known values')
    karpenter.apply(pool)
    [node] = karpenter.wait_for_nodes(1)
    assert cluster.wait_until_assigned(pod) == node["metadata"]["name"]
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "berth"


def test_does_not_add_nodes_for_pods_that_wait_for_a_floating_pool(start: Start, cluster: Cluster) -> None:
    karpenter = start(FLOATING)
    karpenter.apply(*printed(FLOATING))
    holder = cluster.create_pod("holder", annotations={SEATS: "1"})
    node = cluster.wait_until_assigned(holder)
    waiting = cluster.create_pod("waiting", annotations={SEATS: "1"})
    cluster.wait_until_unschedulable(waiting, none_available({NO_SEAT: 1}))
    karpenter.wait_for_event(waiting.uid, "Nominated", node)
    assert len(karpenter.nodes()) == 1
    cluster.end_containers(holder)
    assert cluster.wait_until_assigned(waiting) == node


def test_does_not_add_a_node_for_counted_resources_without_an_overlay(start: Start, cluster: Cluster) -> None:
    karpenter = start(COUNTED)
    karpenter.apply(printed(COUNTED)[0])
    pod = cluster.create_pod("web", extended={LICENCE: "1"})
    karpenter.wait_for_event(pod.uid, "FailedScheduling", NO_INSTANCE_TYPE)
    assert karpenter.nodes() == []


def test_places_pods_for_a_resource_that_the_kubelet_does_not_report(start: Start, cluster: Cluster) -> None:
    """Karpenter considers the node uninitialized, so it never consolidates the node."""
    karpenter = start(COUNTED, lost=[LICENCE])
    karpenter.apply(*printed(COUNTED))
    karpenter.wait_until_ready("NodeOverlay", "berth")
    pod = cluster.create_pod("web", extended={LICENCE: "1"})
    cluster.wait_until_assigned(pod)
    karpenter.wait_for_claim("Initialized", "ResourceNotRegistered")


def test_doctor_names_the_pool_whose_nodes_the_policy_rejects(
    start: Start, control_plane: ControlPlane, tmp_path: Path
) -> None:
    karpenter = start(COUNTED)
    pool, overlay = printed(COUNTED)
    karpenter.apply(pool, overlay, without_labels(pool, "other"))
    karpenter.wait_until_ready("NodeOverlay", "berth")
    document = tmp_path / "berth.yaml"
    document.write_text(COUNTED)
    found = doctor_in_process(f"--kubeconfig={control_plane.kubeconfig()}", f"--config={document}")
    assert found.bad["node-pools"] == f"NodePool other: the policy rejects its nodes: Insufficient {LICENCE}"


@pytest.mark.parametrize("tainted", [True, False], ids=["tainted", "not tainted"])
def test_karpenter_plans_other_pods_on_reserved_nodes_only_without_the_taint(
    tainted: bool, start: Start, cluster: Cluster
) -> None:
    karpenter = start(SEGREGATED)
    plain, gpus = printed(SEGREGATED)
    if not tainted:
        del gpus["spec"]["template"]["spec"]["taints"]
    karpenter.apply(plain, gpus)
    training = cluster.create_pod("training", extended={GPU: "1"}, further=FOR_GPUS)
    gpu_node = cluster.wait_until_assigned(training)
    web = cluster.create_pod("web")
    if tainted:
        assert cluster.wait_until_assigned(web) != gpu_node
        assert len(karpenter.nodes()) == 2
    else:
        karpenter.wait_for_event(web.uid, "Nominated", gpu_node)
        cluster.wait_until_unschedulable(web, none_available({RESERVED: 1}))
        assert len(karpenter.nodes()) == 1


def test_places_a_gang_on_an_empty_cluster(start: Start, cluster: Cluster, figures: Figures) -> None:
    karpenter = start(GANGS)
    karpenter.apply(*printed(GANGS))
    gangs = Gangs(cluster, karpenter.api)
    began = time.monotonic()
    pods = gangs.create("train", 8)
    assert len({*gangs.wait_until_bound(pods).values()}) == 8
    figures.at_most("Karpenter: a gang of 8 on an empty cluster", time.monotonic() - began, PLACED_SECONDS)


def test_places_a_gang_only_after_its_last_node_has_joined(start: Start, cluster: Cluster) -> None:
    """A limit of the pool stops Karpenter at four nodes with 4 CPUs each."""
    karpenter = start(GANGS)
    [pool] = printed(GANGS)
    limited = {**pool, "spec": {**pool["spec"], "limits": {"cpu": "16"}}}
    karpenter.apply(limited)
    gangs = Gangs(cluster, karpenter.api)
    pods = gangs.create("train", 8)
    early = {node["metadata"]["name"] for node in karpenter.wait_for_nodes(4)}
    gangs.wait_until_rejected(pods, "gang does not fit")
    assert gangs.bound(pods) == {}
    karpenter.apply(pool)
    nodes = {*gangs.wait_until_bound(pods).values()}
    assert len(nodes) == 8
    assert early < nodes
