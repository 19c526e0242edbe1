"""The simulation's cached victims for pods of one shape equal a new dry run, for any priority."""

from __future__ import annotations

import pytest

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.victims import DisruptionBudgets, Victims
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.victim_cache import VictimCache, victims_on
from tests.unit.scheduling.preemption.preempting import NODE, PROFILE, placed, read, snapshot, urgent


class Preemptors:
    """Pods of one shape and several priorities, which preempt on one node with one cache."""

    def __init__(self, cluster: Snapshot) -> None:
        self.cluster, self.cache, self.evaluations = cluster, VictimCache(), EvaluationCache()
        self.budgets = DisruptionBudgets(cluster.disruption_budgets)

    def cached(self, pod: Pod, local: LocalEvaluation) -> Victims | None:
        evaluation = Evaluation.of(PROFILE, pod, self.cluster, local)
        return self.cache.select(evaluation, pod, self.cluster.nodes["n"], self.budgets)

    def fresh(self, pod: Pod, local: LocalEvaluation) -> Victims | None:
        evaluation = Evaluation.of(PROFILE, pod, self.cluster, local)
        return victims_on(evaluation, pod, self.cluster.nodes["n"], self.budgets)


def names(victims: Victims | None) -> list[str] | None:
    return None if victims is None else [pod.name for pod in victims.pods]


@pytest.mark.parametrize(
    ("priorities", "expected"),
    [
        pytest.param([100, 30], [["fifty", "ten"], None], id="a lower priority has fewer potential victims"),
        pytest.param([30, 100], [None, ["fifty", "ten"]], id="a higher priority has more"),
        pytest.param([100, 50], [["fifty", "ten"], None], id="a pod of equal priority is not a victim"),
        pytest.param([51, 100], [["fifty", "ten"], ["fifty", "ten"]], id="no pod between the two priorities"),
        pytest.param([100, 10, 100], [["fifty", "ten"], None, ["fifty", "ten"]], id="back and forth"),
    ],
)
def test_selects_the_same_victims_as_a_new_dry_run(priorities: list[int], expected: list[list[str] | None]) -> None:
    cluster = snapshot(NODE, placed("fifty", 50, cpu="3"), placed("ten", 10, cpu="1"))
    preemptors = Preemptors(cluster)
    local = LocalEvaluation.of(PROFILE, read(urgent()), cluster)
    for priority, wanted in zip(priorities, expected, strict=True):
        pod = read(urgent(priority=priority))
        assert names(preemptors.cached(pod, local)) == wanted
        assert names(preemptors.fresh(pod, local)) == wanted


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(30, id="the next higher priority ends the range"),
        pytest.param(50, id="an equal priority ends the range"),
    ],
)
def test_selects_victims_again_for_a_higher_priority(first: int) -> None:
    cluster = snapshot(NODE, placed("eighty", 80), placed("fifty", 50, cpu="2"), placed("ten", 10))
    preemptors = Preemptors(cluster)
    local = LocalEvaluation.of(PROFILE, read(urgent("2")), cluster)
    assert preemptors.cached(read(urgent("2", priority=first)), local) is None
    assert names(preemptors.cached(read(urgent("2", priority=60)), local)) == ["fifty"]
