"""Counterfactuals: each cause of Pending has the change that answers it, and only verified changes are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth_cli.explain.counterfactuals.search import Counterfactual, search
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import container, pod_with
from tests.unit.cli.explain.cases import COUNTED, FULL, LABELLED, LICENCE, Object, rules, target

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
APP = {"matchLabels": {"app": "s"}}
SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"labelSelector": APP, "topologyKey": "kubernetes.io/hostname"}


def found(pod: Object, *objects: Object, document: Mapping[str, Any] = FULL) -> list[Counterfactual]:
    return search(target(pod, *objects, document=document).case, rules(document), lambda: False)


def texts(results: list[Counterfactual]) -> list[str]:
    return ["; ".join(change.text for change in each.changes) for each in results]


def near(*values: str) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [TERM]}} if not values else {"podAntiAffinity": {REQUIRED: [TERM]}}


def expressions(*items: Mapping[str, object]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(items)}]}}}


def zone(name: str, value: str) -> Object:
    return node_with(name, {"zone": value})


@pytest.mark.parametrize(
    ("pod", "objects", "document", "wanted"),
    [
        pytest.param(
            pod_with(),
            [node_with("a")],
            LABELLED,
            [f"add the label {PRIORITY}=1 to node a"],
            id="a node without the priority label gets it",
        ),
        pytest.param(
            pod_with(),
            [node_with("a", taints=[TAINT])],
            FULL,
            ["remove the taint dedicated=ml:NoSchedule from node a", "let the pod tolerate dedicated=ml:NoSchedule"],
            id="a taint is removed or tolerated",
        ),
        pytest.param(
            pod_with(),
            [node_with("a", taints=[CORDON], unschedulable=True)],
            FULL,
            ["uncordon node a"],
            id="a cordoned node is uncordoned",
        ),
        pytest.param(
            pod_with(),
            [node_with("a", taints=[NOT_READY], status={"conditions": [{"type": "Ready", "status": "False"}]})],
            FULL,
            ["get node a ready again"],
            id="a node that is not ready cannot just lose the taint",
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
            pod_with(affinity=expressions({"key": "gpu", "operator": "DoesNotExist"})),
            [node_with("a", {"gpu": "h100"})],
            FULL,
            ["remove the pod's required node affinity"],
            id="node affinity that no label answers",
        ),
        pytest.param(
            pod_with(requests={"cpu": "5"}),
            [node_with("a")],
            FULL,
            ["lower the pod's request of cpu from 5 to 4"],
            id="a request that no node ever has",
        ),
        pytest.param(
            pod_with(requests={"memory": "9Gi"}),
            [node_with("a")],
            FULL,
            ["lower the pod's request of memory from 9Gi to 8Gi"],
            id="memory is shown in binary units",
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
            pod_with(labels={"app": "s"}, topologySpreadConstraints=[SPREAD]),
            [
                zone("a", "a"),
                node_with("b", {"zone": "b"}, allocatable={"pods": "0"}),
                pod_with("s", {"app": "s"}, nodeName="a"),
            ],
            FULL,
            [
                "raise maxSkew of the pod's spread over zone from 1 to 2",
                "make the pod's spread over zone soft (whenUnsatisfiable: ScheduleAnyway)",
            ],
            id="a spread constraint, beside a node that is out of reach",
        ),
        pytest.param(
            pod_with(affinity=near()),
            [node_with("a")],
            FULL,
            ["remove the pod's required podAffinity term 1 (topologyKey kubernetes.io/hostname)"],
            id="an affinity that no pod matches",
        ),
        pytest.param(
            pod_with(affinity=near("away")),
            [node_with("a"), pod_with("s", {"app": "s"}, nodeName="a")],
            FULL,
            [
                "end default/s on node a",
                "remove the pod's required podAntiAffinity term 1 (topologyKey kubernetes.io/hostname)",
                "add a node like a",
            ],
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
            [
                "remove the taint dedicated=ml:NoSchedule from node a; lower the pod's request of cpu from 5 to 4",
                "let the pod tolerate dedicated=ml:NoSchedule; lower the pod's request of cpu from 5 to 4",
            ],
            id="two reasons need two changes",
        ),
    ],
)
def test_finds_the_smallest_changes_that_place_the_pod(
    pod: Object, objects: list[Object], document: Mapping[str, Any], wanted: list[str]
) -> None:
    assert texts(found(pod, *objects, document=document)) == wanted


def test_shows_small_changes_before_large_ones() -> None:
    busy = pod_with("w", nodeName="b", requests={"cpu": "2"})
    results = found(pod_with(requests={"cpu": "3"}), node_with("a", taints=[TAINT]), node_with("b"), busy)
    assert texts(results)[0] == "remove the taint dedicated=ml:NoSchedule from node a"
    assert texts(results)[-1] == "add a node like b"


def test_names_the_nodes_that_take_the_changed_pod() -> None:
    results = found(pod_with(nodeSelector={"disk": "ssd"}), node_with("a"), node_with("b"))
    assert [(each.changes[0].node, list(each.fits)) for each in results] == [("a", ["a"]), ("", ["a", "b"])]


def test_leaves_daemon_set_pods_where_they_are() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    daemon = pod_with("d", nodeName="a", requests={"cpu": "2"}, metadata={"ownerReferences": [owner]})
    results = texts(found(pod_with(requests={"cpu": "3"}), node_with("a"), daemon))
    # A new node would have the DaemonSet's pod, too.
    assert results == ["lower the pod's request of cpu from 3 to 2"]


def test_shows_no_change_that_contains_a_smaller_one() -> None:
    results = texts(found(pod_with(), node_with("a", taints=[TAINT]), document=LABELLED))
    assert all("label" in each for each in results)
    both = texts(found(pod_with(), node_with("a", taints=[TAINT]), node_with("b"), document=LABELLED))
    assert both == [f"add the label {PRIORITY}=1 to node b"]


def test_stops_when_the_time_is_over() -> None:
    assert search(target(pod_with(), node_with("a", taints=[TAINT])).case, rules(), lambda: True) == []
