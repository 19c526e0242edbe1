"""A decision stops at its deadline with one constant answer, which pods of its shape then get at once for a while."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from berth.scheduling.evaluation.time_limit import (
    MAX_COSTLY_SHAPES,
    STEP,
    DeadlineExceeded,
    DecisionDeadline,
    TimeLimit,
    TimeLimited,
)
from berth.scheduling.feasibility import TOO_COSTLY, Exemption
from berth.scheduling.framework.plugin import (
    SUCCESS,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    FilterPlugin,
    ScorePlugin,
    Status,
    unschedulable,
)
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.priority import NodeRejection
from berth.scheduling.preemption.victim_review import Proposal
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node
from tests.builders.pods import pod

NODES = 500
NAMES = [f"n{index}" for index in range(NODES)]
SNAPSHOT = Snapshot.of([node(name) for name in NAMES])
FULL = unschedulable("Work", "no room")


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0
        self.wall = 1000.0

    def limit(self, seconds: float = 1.0) -> TimeLimit:
        return TimeLimit(seconds, lambda: self.seconds, lambda: self.wall, retry_seconds=60)


@dataclass
class Work:
    """Advances the clock with each unit, and counts the units."""

    clock: Clock
    cost: float
    units: int = 0

    def do(self) -> None:
        self.units += 1
        self.clock.seconds += self.cost


class WorksByNode(FilterPlugin[Pod]):
    name = "Work"

    def __init__(self, work: Work, status: Status = SUCCESS) -> None:
        self.work, self.status = work, status

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        self.work.do()
        return self.status


class ScoresByNode(ScorePlugin[Pod]):
    name = "Work"

    def __init__(self, work: Work) -> None:
        self.work = work

    def score(self, state: Pod, node: NodeInfo) -> int:
        self.work.do()
        return 1


class Passes(ClusterFilter):
    def __init__(self, work: Work) -> None:
        self.work = work

    def filter(self, node: NodeInfo) -> Status:
        self.work.do()
        return SUCCESS

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        return self, ()

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self


class WorksByCluster(ClusterFilterPlugin):
    name = "Work"

    def __init__(self, preparing: Work, filtering: Work) -> None:
        self.preparing, self.filtering = preparing, filtering

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        self.preparing.do()
        return Passes(self.filtering)


class Zeros(ClusterScore):
    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        return [0] * len(candidates)

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        return self


class CountsByCluster(ClusterScorePlugin):
    name = "Work"

    def __init__(self, work: Work) -> None:
        self.work = work

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore:
        self.work.do()
        return Zeros()


def policy_of(
    clock: Clock, *filters: FilterPlugin[Pod] | ClusterFilterPlugin, scores: Collection[object] = ()
) -> Policy:
    profile = Profile("test", filters, tuple((each, 1) for each in scores))  # type: ignore[misc]
    return Policy(profile, Exemption(), time_limit=clock.limit())


def test_filter_stops_after_a_batch_of_nodes_and_rejects_all_with_one_reason() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    result = policy_of(clock, WorksByNode(work)).feasibility(pod(), NAMES, SNAPSHOT)
    assert work.units == 2 * STEP  # the first multiple of STEP whose work takes a second
    assert result.too_costly
    assert (result.feasible, result.failed) == ([], {})
    assert dict(result.unresolvable) == dict.fromkeys(NAMES, TOO_COSTLY)


def test_retry_does_not_evaluate_until_the_cached_verdict_expires() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    answers = [policy.feasibility(pod(), NAMES, SNAPSHOT)]
    for _ in range(3):
        clock.wall += 19.9
        answers.append(policy.feasibility(pod(name="another"), NAMES, SNAPSHOT))
    assert work.units == 2 * STEP
    assert all(dict(each.unresolvable) == dict(answers[0].unresolvable) for each in answers)
    clock.wall += 1
    assert policy.feasibility(pod(), NAMES, SNAPSHOT).too_costly
    assert work.units == 4 * STEP


def test_next_attempt_continues_where_the_last_one_stopped() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    for _ in range(20):
        result = policy.feasibility(pod(), NAMES, SNAPSHOT)
        if result.feasible:
            break
        clock.wall += 61
    assert result.feasible == NAMES
    assert work.units == NODES


def test_other_shapes_are_evaluated_while_one_shape_is_too_costly() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    assert policy.feasibility(pod(), NAMES, SNAPSHOT).too_costly
    assert policy.feasibility(pod(namespace="other"), NAMES[:STEP], SNAPSHOT).feasible == NAMES[:STEP]


def test_shape_is_evaluated_again_if_the_wall_clock_is_set_back() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    policy.feasibility(pod(), NAMES, SNAPSHOT)
    clock.wall -= 1
    policy.feasibility(pod(), NAMES, SNAPSHOT)
    assert work.units == 4 * STEP


def test_best_stops_scoring_at_the_limit() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    result = policy_of(clock, scores=[ScoresByNode(work)]).best(pod(), NAMES, SNAPSHOT)
    assert (result.feasible, result.too_costly, work.units) == ([], True, 2 * STEP)


def test_scores_are_equal_if_scoring_takes_too_long() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, scores=[ScoresByNode(work)])
    assert policy.timely_scores(pod(), NAMES, SNAPSHOT) is None
    assert policy.scores(pod(), NAMES, SNAPSHOT) == [0] * NODES
    assert work.units == 2 * STEP


def test_filter_still_decides_after_scoring_took_too_long() -> None:
    clock = Clock()
    policy = policy_of(clock, scores=[ScoresByNode(Work(clock, 0.01))])
    policy.scores(pod(), NAMES, SNAPSHOT)
    assert policy.feasibility(pod(), NAMES, SNAPSHOT).feasible == NAMES


@pytest.mark.parametrize("plugins", [1, 2, 3])
def test_filter_stops_between_cluster_wide_plugins_at_the_limit(plugins: int) -> None:
    clock = Clock()
    work, none = Work(clock, 0.6), Work(clock, 0.0)
    policy = policy_of(clock, *[WorksByCluster(work, none) for _ in range(plugins)])
    assert policy.feasibility(pod(), NAMES, SNAPSHOT).too_costly is (plugins > 1)
    assert work.units == min(plugins, 2)


def test_scoring_stops_between_cluster_wide_plugins_at_the_limit() -> None:
    clock = Clock()
    work = Work(clock, 0.6)
    policy = policy_of(clock, scores=[CountsByCluster(work) for _ in range(5)])
    assert policy.timely_scores(pod(), NAMES, SNAPSHOT) is None
    assert work.units == 2


def test_preempt_rejects_all_nodes_if_the_review_takes_too_long() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work, FULL))
    proposals = {name: Proposal((f"victim-{name}",), 0) for name in NAMES}
    urgent = pod(priority=10)
    for _ in range(2):
        result = policy.review_victims(urgent, proposals, SNAPSHOT)
        assert result.victims == {}
        assert result.rejected == dict.fromkeys(NAMES, NodeRejection.TOO_COSTLY)
    assert work.units < NODES


def test_stops_if_the_call_ends_before_the_limit() -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    assert policy.feasibility(pod(), NAMES, SNAPSHOT, 0.6).too_costly
    assert work.units == STEP  # the first multiple of STEP whose work takes 0.6 s


DECISIONS = {
    "filter": lambda policy, seconds: policy.feasibility(pod(), NAMES, SNAPSHOT, seconds).feasible,
    "filter_onlyone": lambda policy, seconds: policy.best(pod(), NAMES, SNAPSHOT, seconds).feasible,
    "prioritize": lambda policy, seconds: policy.timely_scores(pod(), NAMES, SNAPSHOT, seconds),
    "preempt": lambda policy, seconds: policy.review_victims(
        pod(priority=10), {name: Proposal((f"victim-{name}",), 0) for name in NAMES}, SNAPSHOT, seconds
    ),
}


@pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS)
def test_expired_call_does_not_mark_the_shape_as_too_costly(decide: Callable[[Policy, float], object]) -> None:
    clock = Clock()
    work = Work(clock, 0.01)
    policy = policy_of(clock, WorksByNode(work))
    with pytest.raises(DeadlineExceeded):
        decide(policy, 0.4)
    done = work.units
    assert 0 < done < NODES
    with pytest.raises(DeadlineExceeded):
        decide(policy, 0.4)
    assert work.units > done, "the shape was remembered as too costly"


@pytest.mark.parametrize(
    ("seconds_left", "remembered"),
    [
        pytest.param(2.0, True, id="the limit is over"),
        pytest.param(0.5, True, id="half the limit is over"),
        pytest.param(0.49, False, id="less than half"),
        pytest.param(0.0, False, id="no time was left"),
    ],
)
def test_marks_a_shape_as_too_costly_only_after_half_of_the_limit(seconds_left: float, remembered: bool) -> None:
    limited = TimeLimited(Clock().limit())
    calls: list[DecisionDeadline] = []

    def decide(deadline: DecisionDeadline) -> None:
        calls.append(deadline)
        exceeding(deadline)

    for _ in range(2):
        with nullcontext() if remembered else pytest.raises(DeadlineExceeded):
            limited.run("filter", pod(), decide, seconds_left)
    assert len(calls) == (1 if remembered else 2)


def exceeding(_: DecisionDeadline) -> None:
    raise DeadlineExceeded


def test_number_of_shapes_marked_as_too_costly_is_bounded() -> None:
    clock = Clock()
    limited = TimeLimited(clock.limit())
    calls = []

    def decide(deadline: DecisionDeadline) -> None:
        calls.append(deadline)
        exceeding(deadline)

    pods = [pod(namespace=f"n{index}") for index in range(MAX_COSTLY_SHAPES + 1)]
    for each in pods:
        limited.run("filter", each, decide)
    limited.run("filter", pods[-1], decide)
    assert len(calls) == len(pods)
    limited.run("filter", pods[0], decide)
    assert len(calls) == len(pods) + 1


@pytest.mark.parametrize("items", [0, 1, STEP, STEP + 1])
def test_reads_the_clock_once_per_batch(items: int) -> None:
    looks = 0

    def monotonic() -> float:
        nonlocal looks
        looks += 1
        return 0.0

    deadline = DecisionDeadline(TimeLimit(1.0, monotonic, lambda: 0.0))
    looks = 0
    assert [item for step in deadline.steps(range(items)) for item in step] == list(range(items))
    assert looks == -(-items // STEP)
