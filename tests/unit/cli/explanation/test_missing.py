"""The first line names everything that the pod lacks (resources, pools, ports), and whether more nodes help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explanation.explanation import Explanation, explain_pod
from berth_cli.explanation.report import document, headline
from tests.builders.nodes import node_with
from tests.builders.pods import container, daemon_set_fields, pod_with
from tests.unit.cli.explanation.cases import COUNTED, FULL, LICENCE, Object, rules, target

SEAT, ZONE = "example.com/seat", "topology.kubernetes.io/zone"
IN_ZONE: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [{"name": SEAT, "capacity": {"value": 4, "scope": ZONE}}],
}
APP = {"matchLabels": {"app": "s"}}
VAIN = "; more nodes do not help"
PRESSURE = [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]
WITH = "anti-affinity with"


def zone(name: str, value: str, **fields: Any) -> Object:
    return node_with(name, {ZONE: value}, **fields)


def asks(name: str = "p", seats: str = "1", on: str = "", cpu: str = "1", **fields: Any) -> Object:
    return pod_with(name, requests={SEAT: seats, "cpu": cpu}, nodeName=on, **fields)


def port(name: str, number: int, on: str = "", **fields: Any) -> dict[str, Any]:
    return pod_with(name, nodeName=on, containers=[{**container(), "ports": [{"hostPort": number}]}], **fields)


def apart(name: str = "p", on: str = "", key: str = ZONE) -> Object:
    term = {"labelSelector": APP, "topologyKey": key}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod_with(name, {"app": "s"}, nodeName=on, requests={"cpu": "1"}, affinity=affinity)


def beside(app: str) -> Object:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return pod_with(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def daemon(name: str, on: str) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    return port(name, 9100, on, metadata={"ownerReferences": [owner]})


def explained(pod: Object, *objects: Object, given: Mapping[str, Any] = FULL) -> Explanation:
    found = target(pod, *objects, document=given)
    return explain_pod(found, rules(given), weight=1, now=0, is_over=lambda: False)


def licences(name: str, count: str, *taints: str, **fields: Any) -> Object:
    """Return a node with this many licences, or without licences if the count is empty."""
    found = [{"key": key, "effect": "NoSchedule"} for key in taints]
    return node_with(name, {"licences": count} if count else {}, taints=found, **fields)


def licensed(name: str = "p", count: str = "1", on: str = "", **fields: Any) -> Object:
    return pod_with(name, requests={LICENCE: count}, nodeName=on, **fields)


A = [zone("a1", "a"), zone("a2", "a")]
ZONES = [zone("a1", "a"), zone("b1", "b")]
BUSY = [pod_with(f"w{name}", nodeName=name, requests={"cpu": "4"}, priority=9) for name in ("a1", "a2")]
BUSY_C = pod_with("wc", nodeName="c1", requests={"cpu": "4"})
GPU_POD = pod_with("g", nodeName="g", requests={"example.com/gpu": "1"})
TOO_LITTLE, ONLY = "too little cpu on", "the only node that it selects"
HOLDER = asks("h", "4", "c1")
NO_CPU = "too little cpu on 2 nodes in zone a"
NO_SEAT = f"0 of 4 {SEAT} left in zone"


@pytest.mark.parametrize(
    ("pod", "objects", "given", "wanted"),
    [
        pytest.param(
            asks(), [*A, *BUSY, zone("c1", "c"), HOLDER], IN_ZONE, f": {NO_CPU}; {NO_SEAT} c", id="both halves"
        ),
        pytest.param(
            asks(),
            [*A, *BUSY, zone("b1", "b"), zone("c1", "c"), asks("g", "4", "b1"), HOLDER],
            IN_ZONE,
            f": {NO_CPU}; {NO_SEAT} b; {NO_SEAT} c",
            id="two full pools",
        ),
        pytest.param(
            asks(nodeSelector={ZONE: "c"}),
            [*A, zone("c1", "c"), HOLDER],
            IN_ZONE,
            f": {NO_SEAT} c{VAIN}",
            id="the pod is pinned to the zone of a full pool",
        ),
        pytest.param(
            asks(nodeSelector={ZONE: "c"}),
            [node_with("n"), zone("c1", "c"), HOLDER],
            IN_ZONE,
            f": {NO_SEAT} c{VAIN}",
            id="another node is in no zone",
        ),
        pytest.param(
            pod_with(nodeSelector={"kubernetes.io/hostname": "a1"}, requests={"cpu": "1"}),
            [*A, BUSY[0]],
            FULL,
            f": {TOO_LITTLE} a1, {ONLY}{VAIN}",
            id="the pod selects a node by its host name",
        ),
        pytest.param(
            pod_with(affinity=daemon_set_fields("a1")["affinity"], requests={"cpu": "1"}),
            [*A, BUSY[0]],
            FULL,
            f": {TOO_LITTLE} a1, {ONLY}{VAIN}",
            id="the pod of a DaemonSet",
        ),
        pytest.param(asks(), [zone("c1", "c"), HOLDER], IN_ZONE, f": {NO_SEAT} c{VAIN}", id="each zone is full"),
        pytest.param(
            apart(),
            [*ZONES, apart("s1", "a1"), apart("s2", "b1")],
            FULL,
            f": {WITH} default/s1 on a1, default/s2 on b1{VAIN}",
            id="a pod in each zone",
        ),
        pytest.param(
            pod_with(labels={"app": "s"}),
            [zone("a1", "a"), zone("a2", "a"), apart("s", "a1")],
            FULL,
            f": anti-affinity of default/s on a1{VAIN}",
            id="the rule of another pod, on another node of the zone",
        ),
        pytest.param(
            apart(key="kubernetes.io/hostname"),
            [node_with("n"), apart("s1", "n", "kubernetes.io/hostname")],
            FULL,
            f": {WITH} default/s1 on n",
            id="a pod on each node: a new node helps",
        ),
        pytest.param(
            apart(),
            [zone("a1", "a"), apart("s1", "a1"), zone("b1", "b"), pod_with("w", nodeName="b1", requests={"cpu": "4"})],
            FULL,
            f": {WITH} default/s1 on a1",
            id="a pod in one zone, another zone is full: a new node helps",
        ),
        pytest.param(
            apart(),
            [zone("a1", "a"), apart("s1", "a1"), zone("b1", "b", taints=[{"key": "k", "effect": "NoSchedule"}])],
            FULL,
            f": {WITH} default/s1 on a1",
            id="a pod in one zone, another zone has nodes for other pods: a node like those of the first zone helps",
        ),
        pytest.param(
            {**apart(), "spec": {**apart()["spec"], "nodeSelector": {"pool": "web"}}},
            [node_with("a1", {ZONE: "a", "pool": "web"}), apart("s1", "a1"), node_with("b1", {ZONE: "b"})],
            FULL,
            f": {WITH} default/s1 on a1",
            id="a pod in one zone, it selects no node of another zone: a node like those of the first zone helps",
        ),
        pytest.param(
            pod_with(),
            [node_with("n", taints=[{"key": "k", "effect": "NoSchedule"}])],
            FULL,
            ": it does not tolerate k:NoSchedule",
            id="a taint: a node of another kind may help",
        ),
        pytest.param(
            port("p", 80),
            [*ZONES, port("x", 80, "a1"), port("y", 80, "b1")],
            FULL,
            ": host port 80/TCP is taken by default/x on a1, default/y on b1",
            id="a host port",
        ),
        pytest.param(
            port("p", 9100),
            [zone("a1", "a"), daemon("d1", "a1")],
            FULL,
            ": host port 9100/TCP is taken by default/d1 on a1",
            id="a host port of a DaemonSet",
        ),
        pytest.param(
            asks(cpu="8"),
            [*ZONES],
            FULL,
            f": no node has {SEAT}; larger than the largest node (cpu 8 of at most 4)",
            id="larger than all nodes, and a resource that no node has",
        ),
        pytest.param(
            pod_with(requests={"cpu": "8"}, nodeSelector={ZONE: "a"}),
            [zone("a1", "a"), zone("b1", "b", allocatable={"cpu": "16"})],
            FULL,
            ": larger than the largest node that it selects (cpu 8 of at most 4)",
            id="larger than the nodes that it selects",
        ),
        pytest.param(
            pod_with(nodeSelector={ZONE: "a"}),
            [zone("a1", "a", taints=PRESSURE), zone("b1", "b")],
            FULL,
            ": it does not tolerate node.kubernetes.io/disk-pressure:NoSchedule",
            id="the taint of the nodes that it selects",
        ),
        pytest.param(
            pod_with(requests={"cpu": "4"}),
            [zone("a1", "a", taints=PRESSURE), BUSY[0]],
            FULL,
            f": it does not tolerate node.kubernetes.io/disk-pressure:NoSchedule; {TOO_LITTLE} a1",
            id="a taint and too little room",
        ),
        pytest.param(
            pod_with(requests={"example.com/gpus": "1"}),
            [node_with("n", allocatable={"example.com/gpu": "1"})],
            FULL,
            ": no node has example.com/gpus; did you mean example.com/gpu?",
            id="a misspelled resource",
        ),
        pytest.param(
            beside("d"),
            [node_with("n"), pod_with("x", {"app": "x"}, nodeName="n")],
            FULL,
            f": no pod on a node matches its pod affinity{VAIN}",
            id="affinity to a pod that does not exist",
        ),
        pytest.param(
            beside("x"),
            [node_with("n", unschedulable=True), node_with("m"), pod_with("x", {"app": "x"}, nodeName="n")],
            FULL,
            f": node(s) didn't match pod affinity rules on m{VAIN}",
            id="affinity to a pod on a node that is cordoned",
        ),
        pytest.param(
            pod_with(requests={"cpu": "4"}),
            [zone("a1", "a"), BUSY[0]],
            FULL,
            f": {TOO_LITTLE} a1",
            id="as large as a node",
        ),
        pytest.param(
            pod_with(requests={"cpu": "4"}, nodeSelector={ZONE: "a"}),
            [*A, *BUSY, zone("b1", "b"), zone("a3", "a", taints=PRESSURE)],
            FULL,
            f": {TOO_LITTLE} a1, a2",
            id="the only nodes without a taint that it selects",
        ),
        pytest.param(
            pod_with(requests={"cpu": "4"}),
            [zone("a1", "a"), BUSY[0], node_with("b", allocatable={"cpu": "8", "pods": "0"}), zone("c1", "c"), BUSY_C],
            FULL,
            f": {TOO_LITTLE} a1, c1; too many pods on b",
            id="two reasons on different nodes",
        ),
        pytest.param(
            pod_with(requests={"example.com/gpu": "1"}),
            [node_with("g", allocatable={"example.com/gpu": "1"}), GPU_POD, zone("a1", "a")],
            FULL,
            ": too little example.com/gpu on g",
            id="only nodes that have the resource count",
        ),
        pytest.param(
            pod_with(requests={"example.com/gpu": "1"}, nodeSelector={ZONE: "a"}),
            [node_with("g", allocatable={"example.com/gpu": "1"}), zone("a1", "a")],
            FULL,
            ": no node that it selects has example.com/gpu",
            id="the nodes that it selects do not have the resource",
        ),
    ],
)
def test_first_line_names_everything_that_the_pod_lacks(
    pod: Object, objects: Sequence[Object], given: Mapping[str, Any], wanted: str
) -> None:
    nodes = sum(each["kind"] == "Node" for each in objects)
    found = explained(pod, *objects, given=given)
    assert headline(found) == f"default/p: pending: 0 of {nodes} nodes fit{wanted}"


NO_LICENCE = f"too little {LICENCE} on 1 node"
DEVICE, LABELS = "example.com/memory", {"count": "2", "size": "8"}
DEVICES = node_with("n", LABELS)
TAINTED_DEVICES = node_with("m", LABELS, taints=[{"key": "k", "effect": "NoSchedule"}])
IN_DEVICES: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [
        {
            "name": DEVICE,
            "ignoredByScheduler": True,
            "devices": {"count": {"nodeLabel": "count"}, "size": {"nodeLabel": "size"}},
        }
    ],
}
SEATS_AND_LICENCES: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [*COUNTED["managedResources"], *IN_ZONE["managedResources"]],
}


@pytest.mark.parametrize(
    ("pod", "objects", "given", "wanted"),
    [
        pytest.param(
            licensed(), [licences("n", "1"), licensed("h", on="n")], COUNTED, f": {NO_LICENCE}", id="no other node"
        ),
        pytest.param(
            licensed(),
            [licences("n", "1"), licensed("h", on="n"), licences("m", "", "k")],
            COUNTED,
            f": {NO_LICENCE}",
            id="the taint is on a node that is not counted",
        ),
        pytest.param(
            licensed(),
            [licences("n", "1"), licensed("h", on="n"), licences("m", "1", "k")],
            COUNTED,
            f": {NO_LICENCE}; it does not tolerate k:NoSchedule",
            id="the taint is on another node, which has enough",
        ),
        pytest.param(
            licensed(),
            [licences("n", "1", "k"), licensed("h", on="n"), licences("m", "")],
            COUNTED,
            f": {NO_LICENCE}; it does not tolerate k:NoSchedule",
            id="the taint is on the same node",
        ),
        pytest.param(
            licensed(),
            [licences("n", "1", "k"), licences("m", "")],
            COUNTED,
            ": it does not tolerate k:NoSchedule",
            id="only the taint: the other node is not counted",
        ),
        pytest.param(
            pod_with(requests={LICENCE: "1", "cpu": "1"}),
            [
                licences("n", "1"),
                licensed("h", on="n"),
                licences("m", "1"),
                pod_with("w", nodeName="m", requests={"cpu": "4"}),
            ],
            COUNTED,
            f": {NO_LICENCE}",
            id="another node lacks something else",
        ),
        pytest.param(
            licensed(count="3"),
            [licences("n", "2"), licences("m", "", "k")],
            COUNTED,
            f": larger than the largest node ({LICENCE} 3 of at most 2)",
            id="larger than the capacity of every node",
        ),
        pytest.param(
            licensed(count="3"),
            [licences("n", "2", "k"), licences("m", "")],
            COUNTED,
            f": larger than the largest node ({LICENCE} 3 of at most 2); it does not tolerate k:NoSchedule",
            id="larger than the capacity of every node, which is tainted",
        ),
        pytest.param(
            licensed(),
            [licences("n", "", "k"), licences("m", "")],
            COUNTED,
            f": no node has {LICENCE}",
            id="no node is counted",
        ),
        pytest.param(
            licensed(), [licences("n", "some"), licences("m", "")], COUNTED, "", id="the capacity cannot be read"
        ),
        pytest.param(
            licensed(),
            [licences("n", "", allocatable={}), licences("m", "", allocatable={})],
            COUNTED,
            f": no node has {LICENCE}",
            id="no node is counted or has an amount",
        ),
        pytest.param(
            pod_with(requests={DEVICE: "6"}),
            [DEVICES, *(pod_with(name, nodeName="n", requests={DEVICE: "6"}) for name in ("h", "i")), TAINTED_DEVICES],
            IN_DEVICES,
            f": too little {DEVICE} on 1 node; it does not tolerate k:NoSchedule",
            id="the devices are too full",
        ),
        pytest.param(
            licensed(nodeSelector={"pool": "web"}),
            [licences("n", "1", "k"), node_with("m", {"pool": "web"})],
            COUNTED,
            f": no node that it selects has {LICENCE}",
            id="no node that it selects is counted",
        ),
        pytest.param(
            pod_with(requests={LICENCE: "1", SEAT: "1"}),
            [
                node_with("n", {"licences": "1", ZONE: "a"}),
                licensed("h", on="n"),
                node_with("m", {"licences": "1", ZONE: "c"}),
                asks("g", "4", "m"),
            ],
            SEATS_AND_LICENCES,
            f": too little {LICENCE} on 1 node in zone a; {NO_SEAT} c",
            id="the other half is a full pool",
        ),
    ],
)
def test_first_line_names_counted_resource_that_nodes_lack(
    pod: Object, objects: Sequence[Object], given: Mapping[str, Any], wanted: str
) -> None:
    nodes = sum(each["kind"] == "Node" for each in objects)
    assert headline(explained(pod, *objects, given=given)) == f"default/p: pending: 0 of {nodes} nodes fit{wanted}"


def test_document_lists_everything_that_the_first_line_names() -> None:
    found = document(explained(port("p", 80), node_with("n"), port("x", 80, "n")))
    assert found["missing"] == ["host port 80/TCP is taken by default/x on n"]
    found = document(explained(apart(), zone("a1", "a"), apart("s1", "a1")))
    assert found["missing"] == [f"{WITH} default/s1 on a1"]
    assert found["moreNodesHelp"] is False
