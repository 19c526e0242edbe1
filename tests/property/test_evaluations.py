"""Cached results equal newly computed ones, after any changes and for any caller."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.framework.plugin import SUCCESS, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.property.changing_clusters import Cluster, Event, as_pod, clusters, events, incoming

pytestmark = pytest.mark.long

PROFILES = {name: BerthConfiguration().build_profile(name) for name in ("full", "label-priority")}
NAMES = [*(f"n{index}" for index in range(6)), "joined-a-moment-ago"]

Found = tuple[dict[str, Status], list[int] | Status]

steps = st.lists(st.lists(events, min_size=1, max_size=3), min_size=1, max_size=6)
asking = st.lists(incoming.map(as_pod), min_size=1, max_size=3)


def said_by(evaluation: Evaluation, pod: Pod) -> Found:
    """Return the statuses by name, and the scores of the nodes that pass."""
    located = NodeRefs.of(NAMES, evaluation.snapshot.positions)
    result = evaluation.statuses.filter_nodes(located)
    by_name = {name: evaluation.statuses[name] for name in NAMES}
    assert {name: status for name, status in by_name.items() if status is not SUCCESS} == dict(result.rejected)
    return by_name, evaluation.totals(pod, result.feasible)


def found_anew(profile: Profile, pod: Pod, cluster: Cluster) -> Found:
    snapshot = cluster.anew()
    return said_by(Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot)), pod)


def happened(cluster: Cluster, snapshot: Snapshot, together: list[Event]) -> tuple[Cluster, Snapshot]:
    for event in together:
        cluster, changes = event(cluster)
        snapshot = snapshot.with_changes(changes)
    return cluster, snapshot


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(clusters(), steps, asking, st.integers(1, 4), st.data())
def test_updated_evaluation_equals_new_evaluation(
    profile: Profile, cluster: Cluster, changes: list[list[Event]], pods: list[Pod], shapes: int, data: st.DataObject
) -> None:
    """The cache may hold fewer shapes than there are, and is not used after every change."""
    evaluations, snapshot = EvaluationCache(shapes), cluster.anew()
    for together in [[], *changes]:
        cluster, snapshot = happened(cluster, snapshot, together)
        for pod in pods:
            if data.draw(st.booleans()):
                assert said_by(evaluations.of(profile, pod, snapshot), pod) == found_anew(profile, pod, cluster)


@given(clusters(), incoming.map(as_pod), incoming.map(as_pod))
def test_pods_of_one_shape_get_the_same_verdicts_and_scores(cluster: Cluster, one: Pod, other: Pod) -> None:
    """Otherwise the cached verdicts of one pod would be wrong for another pod of its shape."""
    profile = PROFILES["full"]
    (local_shape, cluster_shape), other_shapes = profile.shapes(one), profile.shapes(other)
    if local_shape == other_shapes[0]:
        snapshot = cluster.anew()
        local = [LocalEvaluation.of(profile, pod, snapshot).statuses for pod in (one, other)]
        assert [local[0][name] for name in NAMES] == [local[1][name] for name in NAMES]
        if cluster_shape == other_shapes[1]:
            assert found_anew(profile, one, cluster) == found_anew(profile, other, cluster)


@contextmanager
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@settings(max_examples=25)
@given(clusters(), steps, asking, st.integers(1, 4), st.randoms())
def test_concurrent_calls_get_the_same_results_as_separate_calls(
    cluster: Cluster, changes: list[list[Event]], pods: list[Pod], shapes: int, random: Random
) -> None:
    profile, evaluations, snapshot = PROFILES["full"], EvaluationCache(shapes), cluster.anew()
    expected: list[tuple[Snapshot, Pod, Found]] = []
    for together in [[], *changes]:
        cluster, snapshot = happened(cluster, snapshot, together)
        expected += [(snapshot, pod, found_anew(profile, pod, cluster)) for pod in pods]
    # Some calls began before others, on an earlier snapshot.
    calls = [random.choice(expected) for _ in range(64)]

    def ask(call: tuple[Snapshot, Pod, Found]) -> Found:
        return said_by(evaluations.of(profile, call[1], call[0]), call[1])

    with switching_often(), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, calls)) == [found for _, _, found in calls]
