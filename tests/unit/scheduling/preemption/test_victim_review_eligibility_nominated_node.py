"""Whether a pod has only to wait for its victims (fact 15a)."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.preemption.preempting import NODE, placed, read, snapshot, urgent

Object = dict[str, Any]

POLICY = BerthConfiguration.model_validate({"profile": "full"}).policy()
NOMINATED: Object = {"status": {"nominatedNodeName": "n"}}


def leaving(cpu: str = "4", priority: int = 0, reason: str = "PreemptionByScheduler", **fields: Any) -> Object:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return placed("leaving", priority, cpu, conditions=[condition], **{"terminating": True, **fields})


@pytest.mark.parametrize(
    ("pod", "objects", "wanted"),
    [
        pytest.param(urgent(**NOMINATED), [NODE, leaving()], {"n"}, id="it fits once its victims have terminated"),
        pytest.param(urgent(), [NODE, leaving()], set(), id="it is not nominated"),
        pytest.param(urgent(**NOMINATED), [NODE, placed("a", cpu="4")], {"n"}, id="cache shows no terminating victims"),
        pytest.param(urgent(**NOMINATED), [NODE, leaving(reason="EvictionByEvictionAPI")], {"n"}, id="by another"),
        pytest.param(urgent(**NOMINATED), [NODE, placed("a", 100, "4")], set(), id="pod on node cannot be its victim"),
        pytest.param(urgent(**NOMINATED), [node_with("n", unschedulable=True)], set(), id="the node is empty"),
        pytest.param(urgent(**NOMINATED), [NODE, leaving(priority=100)], set(), id="victim of another pod terminates"),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, leaving("2"), placed("a", 100, cpu="2")],
            set(),
            id="it will not fit after its victims have terminated",
        ),
        pytest.param(
            urgent("2", **NOMINATED),
            [NODE, leaving("2"), placed("a", 100, "2")],
            {"n"},
            id="it will fit after one victim has terminated",
        ),
        pytest.param(
            urgent("2", **NOMINATED),
            [
                NODE,
                leaving("4"),
                pod_with("other", priority=100, requests={"cpu": "3"}, status={"nominatedNodeName": "n"}),
            ],
            set(),
            id="another pod waits for the room",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [node_with("n", unschedulable=True), leaving()],
            set(),
            id="another filter also rejects the node",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, leaving(), node_with("m"), placed("b", cpu="4", node="m")],
            {"n"},
            id="other nodes stay unresolvable",
        ),
    ],
)
def test_nominated_node_of_terminating_victims_resolves(pod: Object, objects: list[Object], wanted: set[str]) -> None:
    cluster, asking = snapshot(*objects), read(pod)
    rejected = POLICY.feasibility(asking, list(cluster.nodes), cluster).rejected
    assert rejected.keys() == cluster.nodes.keys()
    assert POLICY.resolvable(asking, rejected, cluster) == wanted


@pytest.mark.parametrize("labels", [pytest.param({}, id="missing"), pytest.param({PRIORITY: "x"}, id="not an integer")])
def test_node_without_label_stays_unresolvable(labels: dict[str, str]) -> None:
    by_label, asking, cluster = (
        BerthConfiguration().policy(),
        read(urgent(**NOMINATED)),
        snapshot(node_with("n", labels), leaving()),
    )
    rejected = by_label.feasibility(asking, ["n"], cluster).rejected
    assert list(rejected) == ["n"]
    assert by_label.resolvable(asking, rejected, cluster) == set()


def test_unknown_node_is_unresolvable() -> None:
    cluster, asking = snapshot(leaving(node="gone")), read(urgent(status={"nominatedNodeName": "gone"}))
    rejected = POLICY.feasibility(asking, ["gone"], cluster).rejected
    assert (list(rejected), POLICY.resolvable(asking, rejected, cluster)) == (["gone"], set())
