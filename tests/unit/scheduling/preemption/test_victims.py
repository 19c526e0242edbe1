"""Which pods have to leave a node (fact 30), and with whom the pod has to share it (fact 34)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.scheduling.preemption.preempting import (
    FIRST,
    NODE,
    SECOND,
    THIRD,
    app,
    budget,
    placed,
    preempt,
    urgent,
    victims,
)

Object = dict[str, Any]


def port(number: int) -> list[Object]:
    return [{**container(), "ports": [{"hostPort": number, "containerPort": number}]}]


def away_from(name: str) -> Object:
    term = {"labelSelector": app(name), "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(name: str) -> Object:
    term = {"labelSelector": app(name), "topologyKey": "kubernetes.io/hostname"}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


DB, WEB = {"app": "db"}, {"app": "web"}


@pytest.mark.parametrize(
    ("pod", "objects", "wanted"),
    [
        pytest.param(urgent("4"), [placed("a"), placed("b")], ["a", "b"], id="all pods if all room is needed"),
        pytest.param(
            urgent("2"), [placed("a", 1, "2"), placed("b", 2, "2")], ["a"], id="the pod of higher priority stays"
        ),
        pytest.param(
            urgent("2"),
            [placed("a", cpu="2", start=SECOND), placed("b", cpu="2", start=FIRST)],
            ["a"],
            id="the longer running pod of equal priority stays",
        ),
        pytest.param(
            urgent("2"),
            [placed("a", cpu="2", start=None), placed("b", cpu="2", start=THIRD)],
            ["a"],
            id="a pod that has not started is least important",
        ),
        pytest.param(
            urgent("2"),
            [placed("a", 3, "3"), placed("b", 2, "1"), placed("c", 1, "1")],
            ["a"],
            id="only the blocking pod is a victim even if it is more important",
        ),
        pytest.param(
            urgent("3"),
            [placed("a", 3), placed("b", 2), placed("c", 1)],
            ["b", "c"],
            id="sorted by importance",
        ),
        pytest.param(
            urgent("3"),
            [placed("a", 1), placed("b", None), placed("c", -1)],
            ["b", "c"],
            id="a missing priority is 0",
        ),
        pytest.param(urgent(), [placed("a", 100)], None, id="a pod of equal priority is not a victim"),
        pytest.param(urgent(), [placed("a", 101)], None, id="a pod of higher priority is not a victim"),
        pytest.param(urgent(priority=None), [placed("a", -1)], ["a"], id="the pod itself may have no priority"),
        pytest.param(urgent(priority=None), [placed("a", None)], None, id="a missing priority of both pods is 0"),
        pytest.param(
            urgent("4"), [placed("a", 100), placed("b")], None, id="evicting all lower priorities is not enough"
        ),
        pytest.param(urgent("5"), [placed("a")], None, id="the node is too small"),
        pytest.param(urgent("4"), [placed("a", terminating=True)], ["a"], id="a terminating pod is also a victim"),
        pytest.param(
            urgent("1", affinity=away_from("db")),
            [placed("a", labels=DB), placed("b", labels=WEB)],
            ["a"],
            id="the pod's own anti-affinity",
        ),
        pytest.param(
            urgent("1", metadata={"labels": DB}, affinity=None),
            [placed("a", labels=WEB, affinity=away_from("db")), placed("b", labels=WEB)],
            ["a"],
            id="the anti-affinity of a pod on the node",
        ),
        pytest.param(
            urgent("4", affinity=near("db")),
            [placed("a", cpu="4", labels=DB)],
            None,
            id="the only pod it has affinity to stays",
        ),
        pytest.param(
            urgent("1", containers=port(80)),
            [placed("a", containers=port(80)), placed("b")],
            ["a"],
            id="a host port",
        ),
        pytest.param(
            urgent("1", containers=port(80)),
            [placed("a", 200, containers=port(80)), placed("b", containers=port(80))],
            ["b"],
            id="a host port that two pods hold is free when one of them goes: kube-scheduler counts it once",
        ),
    ],
)
def test_selects_the_expected_victims(pod: Object, objects: list[Object], wanted: list[str] | None) -> None:
    assert victims(pod, NODE, *objects) == wanted


@pytest.mark.parametrize(
    ("budgets", "wanted"),
    [
        pytest.param([], ["low"], id="no budget: the least important pod is evicted"),
        pytest.param([budget(0, app("db"))], ["high"], id="a pod with an exhausted budget is reprieved first"),
        pytest.param(
            [budget(1, app("db"))], ["low"], id="a pod with a budget that allows eviction is not reprieved first"
        ),
        pytest.param(
            [budget(0, app("db")), budget(0, app("web"))],
            ["low"],
            id="if both violate budgets the least important pod is evicted",
        ),
    ],
)
def test_reprieves_pods_with_budget_violations_first(budgets: list[Object], wanted: list[str]) -> None:
    pods = placed("high", 2, "2", labels=WEB), placed("low", 1, "2", labels=DB)
    assert victims(urgent("2"), NODE, *pods, *budgets) == wanted


def test_sorts_victims_by_importance_even_with_budget_violations() -> None:
    pods = placed("high", 2, "2", labels=WEB), placed("low", 1, "2", labels=DB)
    assert victims(urgent("4"), NODE, *pods, budget(0, app("db"))) == ["high", "low"]


@pytest.mark.parametrize(
    ("nominated", "wanted"),
    [
        pytest.param({}, ["low"], id="no pod is nominated"),
        pytest.param({"priority": 200}, ["high", "low"], id="a nominated pod of higher priority needs its room"),
        pytest.param({"priority": 100}, ["high", "low"], id="a nominated pod of equal priority needs its room"),
        pytest.param({"priority": 99}, ["low"], id="a nominated pod of lower priority does not count"),
        pytest.param(
            {"priority": 200, "schedulerName": "another"},
            ["low"],
            id="a nominated pod of another scheduler does not count",
        ),
        pytest.param(
            {"priority": 200, "schedulingGates": [{"name": "quota"}]},
            ["low"],
            id="a gated nominated pod does not count",
        ),
    ],
)
def test_counts_pods_nominated_to_the_node(nominated: Object, wanted: list[str]) -> None:
    waiting = [pod_with("waiting", requests={"cpu": "2"}, status={"nominatedNodeName": "n"}, **nominated)]
    pods = placed("high", 2, "2"), placed("low", 1, "2")
    assert victims(urgent("2"), NODE, *pods, *(waiting if nominated else ())) == wanted


def test_keeps_a_pod_that_fits_beside_nominated_pods() -> None:
    waiting = pod_with("waiting", priority=200, status={"nominatedNodeName": "n"}, requests={"cpu": "1"})
    assert victims(urgent("2"), NODE, placed("high", 2, "1"), placed("low", 1, "2"), waiting) == ["low"]


def test_pod_must_also_fit_without_nominated_pods() -> None:
    """Affinity to nominated pods is not enough: they may never arrive."""
    waiting = pod_with("waiting", DB, priority=200, status={"nominatedNodeName": "n"}, requests={"cpu": "0"})
    here = placed("here", 200, "0", labels=DB, node="m")
    pod = urgent("4", affinity=near("db"))
    found = preempt(pod, NODE, node_with("m", allocatable={"cpu": "1"}), placed("v", cpu="4"), here, waiting)
    assert found.candidates == {}


def spread(max_skew: int = 1) -> list[Object]:
    return [
        {
            "maxSkew": max_skew,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": app("db"),
        }
    ]


def test_topology_spread_subtracts_victims() -> None:
    pod = urgent("1", metadata={"labels": DB}, topologySpreadConstraints=spread())
    others = [node_with("m", allocatable={"cpu": "0"})]
    found = preempt(pod, NODE, *others, placed("a", 1, labels=DB), placed("b", 2, labels=DB), placed("c", 0))
    assert [victim.name for victim in found.candidates["n"].pods] == ["b", "a"]


def test_topology_spread_subtracts_pods_that_it_never_counted() -> None:
    """One that is being deleted is not counted, and yet subtracted: so the other one may stay."""
    pod = urgent("1", metadata={"labels": DB}, topologySpreadConstraints=spread())
    others = [node_with("m", allocatable={"cpu": "0"})]
    leaving = placed("leaving", 1, labels=DB, terminating=True)
    found = preempt(pod, NODE, *others, leaving, placed("stays", 2, labels=DB))
    assert [victim.name for victim in found.candidates["n"].pods] == ["leaving"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([node_with("n", unschedulable=True), placed("a")], id="cordoned"),
        pytest.param(
            [node_with("n", taints=[{"key": "gpu", "effect": "NoSchedule"}]), placed("a")], id="an untolerated taint"
        ),
        pytest.param([node_with("n", allocatable={"cpu": "3"}), placed("a")], id="too small"),
        pytest.param(
            [node_with("n", status={"conditions": [{"type": "Ready", "status": "False"}]}), placed("a")], id="not ready"
        ),
    ],
)
def test_finds_no_victims_on_an_unresolvable_node(objects: list[Object]) -> None:
    assert victims(urgent(), *objects) is None


def test_finds_victims_on_a_nominated_node_that_filters_skip() -> None:
    """kube-scheduler filters the nominated node regardless of its PreFilter results."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = urgent(affinity=affinity, status={"nominatedNodeName": "m"})
    found = preempt(pod, NODE, node_with("m"), placed("a"), placed("b", node="m"))
    assert list(found.candidates) == ["m"]
