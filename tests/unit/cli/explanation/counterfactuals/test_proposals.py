"""Each reason that has proposals leads to changes that pass the real rules; absurd changes are not proposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth_cli.explanation.counterfactuals.proposals import ANSWERS
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import container, pod_with
from tests.unit.cli.explanation.cases import COUNTED, FULL, LABELLED, LICENCE, Object, changes, rules, target, waiting

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
APP = {"matchLabels": {"app": "s"}}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"labelSelector": APP, "topologyKey": "kubernetes.io/hostname"}
GPU = "nvidia.com/gpu"
PROTECTED = {
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "w", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "w"}}},
    "status": {"disruptionsAllowed": 0},
}
UNREADY = [{"type": "Ready", "status": "False"}]


SEGREGATED: Mapping[str, Any] = {"profile": "resource-segregation"}


def counting(**resource: Any) -> Mapping[str, Any]:
    return {"profile": "managed-resources", "managedResources": [{"name": LICENCE, **resource}]}


def seats(number: int = 2, scope: str = "cluster", **resource: Any) -> Mapping[str, Any]:
    return counting(capacity={"value": number, "scope": scope}, **resource)


def asks(amount: int = 1, name: str = "p", on: str = "", **fields: Any) -> dict[str, Any]:
    """Return a pod that requests this many seats. on: its node."""
    return pod_with(name, requests={LICENCE: str(amount)}, nodeName=on, **fields)


HELD = [node_with("a"), node_with("b"), asks(1, "w1", "a"), asks(1, "w2", "b", priority=-1)]
"""Two nodes, and two seats that are in use, one of them by a pod of a lower priority."""
RAISED = f"raise the capacity of {LICENCE}@cluster from 2 to {{}}"

LIMITED = counting(capacity={"nodeLabel": "licences"}, podLimit=2)


def near(*values: str) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [TERM]}} if not values else {"podAntiAffinity": {REQUIRED: [TERM]}}


def names(*values: str) -> dict[str, Any]:
    """Return a required node affinity with each of these node names, in one term."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [value]} for value in values]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}}


def expressions(*items: Mapping[str, object]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(items)}]}}}


def owned(name: str, kind: str = "ReplicaSet", **fields: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "web-5d", "uid": "u", "controller": True}
    return pod_with(name, metadata={"ownerReferences": [owner]}, **fields)


def zone(name: str, value: str) -> Object:
    return node_with(name, {"zone": value})


ROWS = [
    pytest.param(
        pod_with(),
        [node_with("a")],
        LABELLED,
        [f"add the label {PRIORITY}=1 to node a"],
        id="adds the missing priority label",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", taints=[TAINT])],
        FULL,
        ["let the pod tolerate dedicated=ml:NoSchedule"],
        id="a taint is tolerated",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", taints=[CORDON], unschedulable=True)],
        FULL,
        ["uncordon node a"],
        id="a cordoned node is uncordoned",
    ),
    pytest.param(
        pod_with(nodeSelector={"disk": "ssd"}),
        [node_with("a")],
        FULL,
        ["add the label disk=ssd to node a", "remove disk=ssd from the pod's nodeSelector"],
        id="nodeSelector",
    ),
    pytest.param(
        pod_with(affinity=expressions({"key": "gpu", "operator": "In", "values": ["h100", "a100"]})),
        [node_with("a")],
        FULL,
        ["add the label gpu=a100 to node a", "remove the pod's required node affinity"],
        id="node affinity with In",
    ),
    pytest.param(
        pod_with(requests={"cpu": "5"}),
        [node_with("a")],
        FULL,
        ["lower the pod's request of cpu from 5 to 4"],
        id="a request larger than any node",
    ),
    pytest.param(
        pod_with(requests={"cpu": "3"}),
        [node_with("a"), pod_with("w", nodeName="a", requests={"cpu": "2"})],
        FULL,
        [
            "lower the pod's request of cpu from 3 to 2",
            "free 1 cpu on node a: end default/w (holds 2 cpu)",
            "add a node like a",
        ],
        id="a full node",
    ),
    pytest.param(
        pod_with(requests={LICENCE: "2"}),
        [node_with("a", {"licences": "some"}), pod_with("w", nodeName="a", requests={LICENCE: "1"})],
        COUNTED,
        ["change the label licences from some to 3 on node a"],
        id="an unreadable capacity",
    ),
    pytest.param(
        pod_with(requests={LICENCE: "2"}),
        [node_with("a")],
        COUNTED,
        ["add the label licences=2 to node a"],
        id="a counted resource without capacity on any node",
    ),
    pytest.param(
        pod_with(requests={LICENCE: "2"}),
        [node_with("a", {"licences": "2"}), pod_with("w", nodeName="a", requests={LICENCE: "1"})],
        COUNTED,
        [
            f"lower the pod's request of {LICENCE} from 2 to 1",
            f"free 1 {LICENCE} on node a: end default/w (holds 1 {LICENCE})",
            "add a node like a",
        ],
        id="a counted resource",
    ),
    pytest.param(
        pod_with(containers=[{**container(), "ports": [{"hostPort": 80}]}]),
        [node_with("a"), pod_with("w", nodeName="a", containers=[{**container(), "ports": [{"hostPort": 80}]}])],
        FULL,
        ["end default/w on node a", "add a node like a"],
        id="a host port",
    ),
    pytest.param(
        pod_with(affinity=near("away")),
        [node_with("a"), pod_with("s", {"app": "s"}, nodeName="a")],
        FULL,
        ["end default/s on node a", "add a node like a"],
        id="an anti-affinity",
    ),
    pytest.param(
        pod_with(labels={"app": "s"}),
        [node_with("a"), pod_with("s", nodeName="a", affinity=near("away"))],
        FULL,
        ["end default/s on node a", "add a node like a"],
        id="the anti-affinity of another pod",
    ),
    pytest.param(
        pod_with(requests={"cpu": "5"}),
        [node_with("a", taints=[TAINT])],
        FULL,
        ["let the pod tolerate dedicated=ml:NoSchedule; lower the pod's request of cpu from 5 to 4"],
        id="two reasons need two changes",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", {PRIORITY: "high"})],
        LABELLED,
        [f"change the label {PRIORITY} from high to 1 on node a"],
        id="a non-integer priority label",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", allocatable={"pods": "1"}), pod_with("w", nodeName="a")],
        FULL,
        ["free room for a pod on node a: end default/w", "add a node like a"],
        id="maximum number of pods",
    ),
    pytest.param(
        asks(),
        HELD,
        seats(),
        [f"free 1 {LICENCE}@cluster: end default/w2 (holds 1 {LICENCE})", RAISED.format(3)],
        id="a full pool: the least important holder ends on any node",
    ),
    pytest.param(
        asks(2),
        HELD[:3],
        seats(),
        [
            f"lower the pod's request of {LICENCE} from 2 to 1",
            f"free 1 {LICENCE}@cluster: end default/w1 (holds 1 {LICENCE})",
            RAISED.format(3),
        ],
        id="a pool with too little left: a lower request",
    ),
    pytest.param(
        asks(),
        [node_with("a"), waiting(asks(2, "first", priority=5), f"{LICENCE} in the cluster")],
        seats(),
        [RAISED.format(3)],
        id="what is left is kept for a pod of a higher priority",
    ),
    pytest.param(
        asks(3),
        HELD[:2],
        seats(),
        [f"lower the pod's request of {LICENCE} from 3 to 2", RAISED.format(3)],
        id="a request above the capacity",
    ),
    pytest.param(
        asks(namespace="ml"),
        [node_with("a"), asks(1, "w", "a", namespace="ml", priority=1)],
        seats(perNamespace=1),
        [f"raise the capacity of {LICENCE}@namespace=ml from 1 to 2"],
        id="a full namespace",
    ),
    pytest.param(
        asks(),
        [zone("a", "x"), zone("b", "y"), asks(1, "w1", "a"), asks(1, "w2", "b")],
        seats(1, "zone"),
        [
            f"free 1 {LICENCE}@zone=x: end default/w1 (holds 1 {LICENCE})",
            f"raise the capacity of {LICENCE}@zone=x from 1 to 2",
        ],
        id="a full pool in every zone: one of them",
    ),
    pytest.param(
        asks(),
        [node_with("a")],
        counting(capacity={"value": 1, "nodeSelector": {"pool": "solver"}}),
        ["add the label pool=solver to node a"],
        id="a node without the label of a constant capacity",
    ),
]

NOTHING_ABSURD = [
    pytest.param(
        pod_with(affinity=names("a", "b")),
        [node_with("a"), node_with("b")],
        FULL,
        [],
        id="keeps the names of nodes, although they contradict each other",
    ),
    pytest.param(
        pod_with(affinity=names("b")),
        [node_with("a"), node_with("b", taints=[TAINT])],
        FULL,
        ["let the pod tolerate dedicated=ml:NoSchedule"],
        id="keeps the name of the node",
    ),
    pytest.param(
        owned("p", "DaemonSet", affinity=names("b"), nodeSelector={"disk": "ssd"}),
        [node_with("a"), node_with("b", {"disk": "hdd"})],
        FULL,
        [],
        id="keeps the selector of a DaemonSet",
    ),
    pytest.param(
        owned("p", requests={LICENCE: "1"}),
        [node_with("a"), owned("w", nodeName="a", requests={LICENCE: "2"})],
        seats(),
        [RAISED.format(3)],
        id="a full pool: does not end a pod of the same controller",
    ),
    pytest.param(
        asks(),
        [node_with("a"), owned("w", nodeName="a", requests={LICENCE: "2"})],
        seats(),
        [RAISED.format(3)],
        id="a full pool: does not end a pod whose replacement would wait with the same priority",
    ),
    pytest.param(
        asks(priority=1),
        [node_with("a"), owned("w", nodeName="a", requests={LICENCE: "2"})],
        seats(),
        [f"free 1 {LICENCE}@cluster: end default/w (holds 2 {LICENCE}); its replacement then waits", RAISED.format(3)],
        id="a full pool: ends a pod whose replacement waits with a lower priority",
    ),
    pytest.param(
        asks(2, priority=1),
        [node_with("a"), *(owned(each, nodeName="a", requests={LICENCE: "1"}) for each in ("w1", "w2"))],
        seats(),
        [
            f"free 2 {LICENCE}@cluster: end default/w1 (holds 1 {LICENCE}), default/w2 (holds 1 {LICENCE}); "
            "replacements then wait: default/w1, default/w2",
            RAISED.format(4),
        ],
        id="a full pool: ends two pods whose replacements wait",
    ),
    pytest.param(
        pod_with(requests={"cpu": "3"}),
        [node_with("a"), pod_with("w", {"app": "w"}, nodeName="a", requests={"cpu": "2"}), PROTECTED],
        FULL,
        [
            "lower the pod's request of cpu from 3 to 2",
            "free 1 cpu on node a: end default/w (holds 2 cpu); "
            "PodDisruptionBudget default/w does not allow this eviction now",
            "add a node like a",
        ],
        id="a PodDisruptionBudget that allows no disruption",
    ),
    pytest.param(asks(), [node_with("a")], seats(1, "zone"), [], id="a node without the label that is the scope"),
    pytest.param(
        pod_with(requests={LICENCE: "1", "cpu": "4"}),
        [node_with("a"), pod_with("w", nodeName="a", priority=1, requests={LICENCE: "2", "cpu": "1"})],
        seats(),
        [f"lower the pod's request of cpu from 4 to 3; {RAISED.format(3)}", f"{RAISED.format(3)}; add a node like a"],
        id="a new node helps only with the processors",
    ),
    pytest.param(
        pod_with(requests={"cpu": "5"}),
        [node_with("a"), node_with("b", taints=[NOT_READY], status={"conditions": UNREADY})],
        FULL,
        ["lower the pod's request of cpu from 5 to 4"],
        id="a node that is not ready, and too small",
    ),
    pytest.param(
        pod_with(requests={"cpu": "5"}),
        [node_with("a"), node_with("b", taints=[CORDON], unschedulable=True)],
        FULL,
        ["lower the pod's request of cpu from 5 to 4"],
        id="a node that is cordoned, and too small",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])],
        FULL,
        [],
        id="the taint of the control plane is not tolerated",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", taints=[{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}])],
        FULL,
        [],
        id="a node being removed by an autoscaler",
    ),
    pytest.param(
        pod_with(nodeSelector={"topology.kubernetes.io/zone": "b"}),
        [node_with("a", {"topology.kubernetes.io/zone": "a"}), node_with("b")],
        FULL,
        ["remove topology.kubernetes.io/zone=b from the pod's nodeSelector"],
        id="does not change or add a zone label",
    ),
    pytest.param(
        pod_with(nodeSelector={"disk": "ssd"}),
        [node_with("a", {"disk": "hdd"})],
        FULL,
        ["remove disk=ssd from the pod's nodeSelector"],
        id="does not change an existing label",
    ),
    pytest.param(
        pod_with(requests={GPU: "1"}),
        [node_with("a"), pod_with("w", nodeName="a", requests={"cpu": "4"})],
        SEGREGATED,
        [],
        id="a resource missing on every node",
    ),
    pytest.param(
        pod_with(),
        [node_with("a", allocatable={"cpu": "4", "memory": "8Gi", "pods": "10", GPU: "2"})],
        SEGREGATED,
        [],
        id="a node reserved by the policy stays reserved",
    ),
    pytest.param(
        owned("p", requests={"cpu": "3"}),
        [node_with("a"), owned("w", nodeName="a", requests={"cpu": "4"})],
        FULL,
        ["add a node like a"],
        id="does not delete a pod of the same controller",
    ),
    pytest.param(
        pod_with(requests={"cpu": "3"}, priority=1),
        [node_with("a"), pod_with("w", nodeName="a", requests={"cpu": "4"}, priority=2)],
        FULL,
        ["add a node like a"],
        id="does not delete a more important pod",
    ),
]


@pytest.mark.parametrize(("pod", "objects", "document", "wanted"), [*ROWS, *NOTHING_ABSURD])
def test_finds_the_smallest_changes_that_place_the_pod(
    pod: Object, objects: list[Object], document: Mapping[str, Any], wanted: list[str]
) -> None:
    assert changes(pod, *objects, document=document) == wanted


def test_every_reason_with_proposals_is_tested() -> None:
    shown = set()
    for row in ROWS:
        values: Any = row.values
        pod, objects, document, _ = values
        case = target(pod, *objects, document=document).case
        failing = rules(document).failing(case.pod, case.snapshot.nodes, case.snapshot)
        shown |= {code for statuses in failing.values() for status in statuses for code in status.reason_codes}
    assert shown >= set(ANSWERS)
