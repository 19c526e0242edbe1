"""Which node is preempted on: the criteria of pickOneNodeForPreemption in their order (fact 32)."""

from __future__ import annotations

from datetime import datetime
from itertools import count

import pytest

from berth.scheduling.objects import Pod, label_set, pod_spec
from berth.scheduling.preemption.victims import Victims, best_candidates, eviction_cost
from berth_cli.placement.scheduler.preemption import Criterion, deciding_criterion
from tests.builders.nodes import node_with
from tests.unit.scheduling.preemption.preempting import FIRST, SECOND, THIRD, placed, preempt, urgent

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
        pytest.param(
            candidate(pod(9), pod(9), violations=0), candidate(pod(0), violations=1), id="1: fewest violations"
        ),
        pytest.param(
            candidate(pod(1), pod(1), pod(1)), candidate(pod(2)), id="2: lowest priority of the highest victim"
        ),
        pytest.param(candidate(pod(5), pod(1)), candidate(pod(5), pod(2)), id="3: lowest sum of priorities"),
        pytest.param(
            candidate(pod(5)), candidate(pod(5), pod(-10)), id="3: one more victim is a larger sum even below zero"
        ),
        pytest.param(
            candidate(pod(5), pod(-(2**31))),
            candidate(pod(5), pod(-(2**31)), pod(-(2**31))),
            id="4: fewest victims",
        ),
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
    # Whatever their names and their order are.
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


def test_has_no_best_candidate_if_there_are_no_candidates() -> None:
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
        pytest.param(
            candidate(pod(5), pod(-(2**31) + 1)),
            candidate(pod(5)),
            Criterion.SUM,
            id="a victim of the next priority adds to the sum",
        ),
        pytest.param(candidate(pod(6)), candidate(pod(5)), Criterion.HIGHEST, id="highest priority"),
        pytest.param(candidate(pod(5, FIRST)), candidate(pod(5, SECOND)), Criterion.START, id="start"),
        pytest.param(candidate(pod(5)), candidate(pod(5)), Criterion.TIED, id="equal"),
    ],
)
def test_returns_the_first_criterion_that_differs(victims: Victims, lowest: Victims, criterion: Criterion) -> None:
    assert deciding_criterion(eviction_cost(victims), eviction_cost(lowest)) is criterion
