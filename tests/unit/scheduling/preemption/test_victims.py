"""Which pods are evicted from a node (fact 30). The pod must fit with and without nominated pods (fact 34)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any

import pytest

from berth.scheduling.objects import Pod, label_set, pod_spec
from berth.scheduling.preemption.victims import DisruptionBudgets, Victims, best_candidates, eviction_cost
from berth_cli.placement.scheduler.preemption import Criterion, after_evictions, deciding_criterion
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
    snapshot,
    urgent,
    victims,
    violations,
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
        pytest.param(urgent("2"), [placed("a", 1, "2"), placed("b", 2, "2")], ["a"], id="pod of higher priority stays"),
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
        pytest.param(urgent("3"), [placed("a", 3), placed("b", 2), placed("c", 1)], ["b", "c"], id="by importance"),
        pytest.param(urgent("3"), [placed("a", 1), placed("b", None), placed("c", -1)], ["b", "c"], id="no priority"),
        pytest.param(urgent(), [placed("a", 100)], None, id="a pod of equal priority is not a victim"),
        pytest.param(urgent(), [placed("a", 101)], None, id="a pod of higher priority is not a victim"),
        pytest.param(urgent(priority=None), [placed("a", -1)], ["a"], id="the pod itself may have no priority"),
        pytest.param(urgent(priority=None), [placed("a", None)], None, id="a missing priority of both pods is 0"),
        pytest.param(urgent("4"), [placed("a", 100), placed("b")], None, id="all lower priorities are not enough"),
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
        pytest.param(urgent("4", affinity=near("db")), [placed("a", cpu="4", labels=DB)], None, id="affinity to it"),
        pytest.param(
            urgent("1", containers=port(80)), [placed("a", containers=port(80)), placed("b")], ["a"], id="a host port"
        ),
        pytest.param(
            urgent("1", containers=port(80)),
            [placed("a", 200, containers=port(80)), placed("b", containers=port(80))],
            ["b"],
            id="a host port that two pods hold is free when one of them goes: kube-scheduler counts it once",
        ),
    ],
)
def test_selects_only_less_important_pods_whose_eviction_makes_room(
    pod: Object, objects: list[Object], wanted: list[str] | None
) -> None:
    assert victims(pod, NODE, *objects) == wanted


@pytest.mark.parametrize(
    ("budgets", "wanted"),
    [
        pytest.param([], ["low"], id="no budget: the least important pod is evicted"),
        pytest.param([budget(0, app("db"))], ["high"], id="a pod with an exhausted budget is reprieved first"),
        pytest.param([budget(1, app("db"))], ["low"], id="pod with budget that allows eviction is not reprieved first"),
        pytest.param([budget(0, app("db")), budget(0, app("web"))], ["low"], id="both violate: the least important"),
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
        pytest.param({"priority": 200, "schedulerName": "another"}, ["low"], id="another scheduler's nominated pod"),
        pytest.param({"priority": 200, "schedulingGates": [{"name": "quota"}]}, ["low"], id="gated nominated pod"),
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
    """A terminating pod is not counted and yet subtracted, so the other pod may stay."""
    pod = urgent("1", metadata={"labels": DB}, topologySpreadConstraints=spread())
    others = [node_with("m", allocatable={"cpu": "0"})]
    leaving = placed("leaving", 1, labels=DB, terminating=True)
    found = preempt(pod, NODE, *others, leaving, placed("stays", 2, labels=DB))
    assert [victim.name for victim in found.candidates["n"].pods] == ["leaving"]


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([node_with("n", unschedulable=True), placed("a")], id="cordoned"),
        pytest.param([node_with("n", taints=[{"key": "gpu", "effect": "NoSchedule"}]), placed("a")], id="with a taint"),
        pytest.param([node_with("n", allocatable={"cpu": "3"}), placed("a")], id="too small"),
        pytest.param(
            [node_with("n", status={"conditions": [{"type": "Ready", "status": "False"}]}), placed("a")], id="not ready"
        ),
    ],
)
def test_does_not_select_victims_on_an_unresolvable_node(objects: list[Object]) -> None:
    assert victims(urgent(), *objects) is None


def test_finds_victims_on_a_nominated_node_that_filters_skip() -> None:
    """kube-scheduler filters the nominated node regardless of its PreFilter results."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    pod = urgent(affinity=affinity, status={"nominatedNodeName": "m"})
    found = preempt(pod, NODE, node_with("m"), placed("a"), placed("b", node="m"))
    assert list(found.candidates) == ["m"]


_NUMBERS = count()


def pod(priority: int, start: str | None = FIRST) -> Pod:
    name = f"v{next(_NUMBERS)}"
    spec = pod_spec({"metadata": {}, "spec": {"priority": priority}})
    seconds = None if start is None else datetime.fromisoformat(start).timestamp()
    return Pod(name, f"uid-{name}", label_set("default", {}), spec, start_time=seconds)


def candidate(*pods: Pod, violations: int = 0) -> Victims:
    return Victims(pods, violations)


@pytest.mark.parametrize(
    ("best", "other"),
    [
        pytest.param(candidate(pod(9), pod(9), violations=0), candidate(pod(0), violations=1), id="1: fewest violated"),
        pytest.param(candidate(pod(1), pod(1), pod(1)), candidate(pod(2)), id="2: lowest priority of highest victim"),
        pytest.param(candidate(pod(5), pod(1)), candidate(pod(5), pod(2)), id="3: lowest sum of priorities"),
        pytest.param(candidate(pod(5)), candidate(pod(5), pod(-10)), id="3: one more victim adds even below zero"),
        pytest.param(candidate(pod(5), pod(-(2**31))), candidate(pod(5), pod(-(2**31)), pod(-(2**31))), id="4: fewest"),
        pytest.param(candidate(pod(5, SECOND)), candidate(pod(5, FIRST)), id="5: latest start"),
        pytest.param(
            candidate(pod(5, SECOND), pod(5, SECOND)),
            candidate(pod(5, FIRST), pod(5, THIRD)),
            id="5: earliest start of each node counts",
        ),
        pytest.param(
            candidate(pod(5, SECOND), pod(1, FIRST)),
            candidate(pod(5, FIRST), pod(1, THIRD)),
            id="5: only victims with the highest priority count",
        ),
        pytest.param(candidate(pod(5, None)), candidate(pod(5, THIRD)), id="5: a pod that has not started starts last"),
    ],
)
def test_best_candidate_has_the_lowest_eviction_cost(best: Victims, other: Victims) -> None:
    # The result does not depend on the names or the order of the nodes.
    assert best_candidates({"a": best, "b": other}) == ["a"]
    assert best_candidates({"a": other, "b": best}) == ["b"]


def test_earlier_criterion_takes_precedence_over_later_ones() -> None:
    worse_in_all_else = candidate(pod(9, FIRST), pod(9, FIRST), violations=1)
    assert best_candidates({"a": candidate(pod(0, THIRD), violations=2), "b": worse_in_all_else}) == ["b"]


def test_returns_all_tied_nodes_and_nominates_the_first_by_name() -> None:
    same = {name: candidate(pod(5), pod(1)) for name in ("c", "a", "b")}
    assert best_candidates({**same, "worse": candidate(pod(6))}) == ["a", "b", "c"]

    nodes = [node_with(name) for name in ("c", "a", "b")]
    found = preempt(urgent(), *nodes, *(placed(f"on-{name}", node=name) for name in ("a", "b", "c")))
    assert (found.nominated, found.tied) == ("a", ["a", "b", "c"])


def test_best_candidate_is_none_without_candidates() -> None:
    assert best_candidates({}) == []
    assert preempt(urgent(), node_with("n"), placed("equal", 100)).nominated is None


@pytest.mark.parametrize(
    ("victims", "lowest", "criterion"),
    [
        pytest.param(
            candidate(pod(5), pod(-(2**31)), pod(-(2**31))),
            candidate(pod(5), pod(-(2**31))),
            Criterion.NUMBER,
            id="a victim of the lowest possible priority adds nothing to the sum",
        ),
        pytest.param(candidate(pod(5), pod(-(2**31) + 1)), candidate(pod(5)), Criterion.SUM, id="next priority adds"),
        pytest.param(candidate(pod(6)), candidate(pod(5)), Criterion.HIGHEST, id="highest priority"),
        pytest.param(candidate(pod(5, FIRST)), candidate(pod(5, SECOND)), Criterion.START, id="start"),
        pytest.param(candidate(pod(5)), candidate(pod(5)), Criterion.TIED, id="equal"),
    ],
)
def test_returns_the_first_criterion_that_differs(victims: Victims, lowest: Victims, criterion: Criterion) -> None:
    assert deciding_criterion(eviction_cost(victims), eviction_cost(lowest)) is criterion


# Violations of PodDisruptionBudgets (fact 31).

BOTH = {"app": "db", "tier": "back"}
BACK = {"matchLabels": {"tier": "back"}}


def three(**labels: str) -> list[Object]:
    return [placed(name, labels=labels) for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("objects", "wanted"),
    [
        pytest.param([*three(app="db")], 0, id="no budget"),
        pytest.param([*three(app="db"), budget(0, app("db"))], 3, id="no disruption allowed: each eviction violates"),
        pytest.param([*three(app="db"), budget(2, app("db"))], 1, id="evictions beyond the allowed number violate"),
        pytest.param([*three(app="db"), budget(3, app("db"))], 0, id="all are allowed"),
        pytest.param([*three(app="db"), budget(0, app("db"), disrupted=["a", "b"])], 1, id="counted before already"),
        pytest.param([*three(app="db"), budget(1, app("db"), disrupted=["a"])], 1, id="counted evictions are free"),
        pytest.param(
            [*three(app="db", tier="back"), budget(2, app("db")), budget(1, BACK)],
            2,
            id="every matching budget is used up by each pod",
        ),
        pytest.param([*three(app="db", tier="back"), budget(0, app("db")), budget(0, BACK)], 3, id="two budgets once"),
        pytest.param(
            [
                placed("a", 3, labels=BOTH),
                placed("b", 2, labels=WEB | {"tier": "back"}),
                placed("c", 1, labels=BOTH),
                budget(0, app("db")),
                budget(1, BACK),
            ],
            3,
            id="a violated budget does not keep a pod from using up the others",
        ),
    ],
)
def test_counts_the_victims_that_violate_a_disruption_budget(objects: list[Object], wanted: int) -> None:
    assert violations(urgent("4"), NODE, *objects) == wanted


def test_does_not_count_the_violation_of_a_reprieved_pod() -> None:
    pods = placed("a", 2, "2", labels=WEB), placed("b", 1, "2", labels=DB)
    assert violations(urgent("2"), NODE, *pods, budget(0, app("db"))) == 0


def test_pods_of_highest_priority_use_allowed_disruptions_first() -> None:
    """Only the eviction of `low` would violate the budget, so `low` is reprieved first, and `high` is evicted."""
    pods = placed("high", 2, "2", labels=DB), placed("low", 1, "2", labels=DB)
    cluster = NODE, *pods, budget(1, app("db"))
    assert victims(urgent("2"), *cluster) == ["high"]
    assert violations(urgent("2"), *cluster) == 0


def test_counts_violations_only_if_budgets_exist() -> None:
    pods = snapshot(NODE, placed("a")).nodes["n"].pods
    assert DisruptionBudgets(()).split(pods) == ([], list(pods))


@pytest.mark.parametrize(("allowed", "left"), [(3, 1), (1, 0), (0, 0)])
def test_evictions_reduce_the_disruptions_a_budget_allows(allowed: int, left: int) -> None:
    found = snapshot(NODE, *three(app="db"), budget(allowed, app("db")))
    leaving = replace(found.nodes["n"].pods[2], terminating=True)
    after = after_evictions(found.disruption_budgets, [*found.nodes["n"].pods[:2], leaving])
    assert [each.disruptions_allowed for each in after] == [left]
