"""Verdicts are cached per pod shape, carried over for unchanged nodes, and bounded in number."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from weakref import ref

import pytest

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, ScorePlugin, Status, unresolvable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod

NO = unresolvable("Remembers", "no label")


class Remembers(FilterPlugin, ScorePlugin):
    """Passes labeled nodes, scores them by the label, reads the pod's namespace, and records every call."""

    name = "Remembers"

    def __init__(self) -> None:
        self.filtered: list[tuple[str, str]] = []
        self.scored: list[tuple[str, str]] = []

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        self.filtered.append((pod.namespace, node.name))
        return SUCCESS if node.labels else NO

    def score(self, pod: Pod, node: NodeInfo) -> int:
        self.scored.append((pod.namespace, node.name))
        return int(next(iter(node.labels.values())))

    def shape(self, pod: Pod) -> Hashable:
        return pod.namespace


def scores(evaluation: Evaluation, *names: str) -> list[int]:
    """Return the scores of the feasible nodes among these names, and 0 for the other names."""
    feasible = [name for name in names if evaluation.statuses[name] is SUCCESS]
    totals = evaluation.totals(pod(), NodeRefs.of(feasible, evaluation.snapshot.positions))
    assert isinstance(totals, list)
    found = dict(zip(feasible, totals, strict=True))
    return [found.get(name, 0) for name in names]


def profile(plugin: Remembers, name: str = "test") -> Profile:
    return Profile(name, (plugin,), ((plugin, 1),))


def test_filters_node_only_once_for_pods_of_one_shape() -> None:
    plugin, evaluations = Remembers(), EvaluationCache()
    snapshot = Snapshot.of([labelled("a", "1"), node("b")])
    for name in ("first", "second", "third"):
        evaluation = evaluations.of(profile(plugin), pod(name), snapshot)
        assert [evaluation.statuses[node] for node in ("a", "b")] == [SUCCESS, NO]
        assert scores(evaluation, "a", "b") == [1, 0]
    assert plugin.filtered == [("ml", "a"), ("ml", "b")]
    assert plugin.scored == [("ml", "a")]


def test_filters_pods_of_another_shape_separately() -> None:
    plugin, evaluations = Remembers(), EvaluationCache()
    snapshot = Snapshot.of([labelled("a", "1")])
    for namespace in ("one", "two", "one"):
        assert evaluations.of(profile(plugin), pod(namespace=namespace), snapshot).statuses["a"] is SUCCESS
    assert plugin.filtered == [("one", "a"), ("two", "a")]


def test_profiles_do_not_share_verdicts() -> None:
    one, two, evaluations = Remembers(), Remembers(), EvaluationCache()
    snapshot = Snapshot.of([labelled("a", "1")])
    assert evaluations.of(profile(one, "one"), pod(), snapshot).statuses["a"] is SUCCESS
    assert evaluations.of(profile(two, "two"), pod(), snapshot).statuses["a"] is SUCCESS
    assert (one.filtered, two.filtered) == ([("ml", "a")], [("ml", "a")])


def test_carries_over_only_results_of_unchanged_nodes() -> None:
    plugin, evaluations = Remembers(), EvaluationCache()
    before = Snapshot.of([labelled("same", "1"), labelled("changed", "1"), labelled("gone", "1")])
    evaluation = evaluations.of(profile(plugin), pod(), before)
    assert scores(evaluation, "same", "changed", "gone") == [1, 1, 1]
    plugin.filtered.clear()
    plugin.scored.clear()

    after = before.with_changes(Changes(nodes=[labelled("changed", "9"), node("new")], nodes_gone=["gone"]))
    evaluation = evaluations.of(profile(plugin), pod(), after)
    assert scores(evaluation, "same", "changed", "gone", "new") == [1, 9, 0, 0]
    assert evaluation.statuses["gone"] is NOT_IN_CACHE
    assert plugin.filtered == [("ml", "changed"), ("ml", "new")]
    assert plugin.scored == [("ml", "changed")]


def test_evaluation_of_earlier_snapshot_does_not_change() -> None:
    plugin, evaluations = Remembers(), EvaluationCache()
    before = Snapshot.of([labelled("a", "1")])
    earlier = evaluations.of(profile(plugin), pod(), before)
    assert scores(earlier, "a") == [1]
    evaluations.of(profile(plugin), pod(), Snapshot.of([labelled("a", "2")]))
    assert scores(earlier, "a") == [1]


def test_cached_evaluation_does_not_keep_a_reference_to_the_snapshot() -> None:
    evaluations, snapshot = EvaluationCache(), Snapshot.of([labelled("a", "1")])
    evaluation = evaluations.of(profile(Remembers()), pod(), snapshot)
    assert scores(evaluation, "a") == [1]
    gone = ref(snapshot)
    del snapshot
    assert gone() is None
    with pytest.raises(ReferenceError):
        _ = evaluation.snapshot


def test_does_not_cache_the_verdict_on_an_unknown_node() -> None:
    """Names come from the request and are not limited in number, and the node may join before the next call."""
    plugin, evaluations = Remembers(), EvaluationCache()
    empty = Snapshot.of([])
    evaluation = evaluations.of(profile(plugin), pod(), empty)
    assert [evaluation.statuses[f"n{index}"] for index in range(1_000)] == [NOT_IN_CACHE] * 1_000
    assert scores(evaluation, *(f"n{index}" for index in range(1_000))) == [0] * 1_000
    assert len(evaluation.statuses) == 0
    later = empty.with_changes(Changes(nodes=[labelled("n1", "5")]))
    joined = evaluations.of(profile(plugin), pod(), later)
    assert (joined.statuses["n1"], scores(joined, "n1")) == (SUCCESS, [5])


def test_evicts_least_recently_used_shapes() -> None:
    plugin, evaluations = Remembers(), EvaluationCache(max_shapes=2)
    snapshot = Snapshot.of([labelled("a", "1")])

    def ask(namespace: str) -> None:
        assert evaluations.of(profile(plugin), pod(namespace=namespace), snapshot).statuses["a"] is SUCCESS

    for namespace in ("one", "two", "one", "three", "one", "two"):
        ask(namespace)
    assert plugin.filtered == [("one", "a"), ("two", "a"), ("three", "a"), ("two", "a")]


def test_threads_on_different_snapshots_get_their_own_results() -> None:
    plugin, evaluations, together = Remembers(), EvaluationCache(), Barrier(8)
    snapshots = [Snapshot.of([labelled(f"n{index}", str(value)) for index in range(200)]) for value in range(8)]

    def ask(value: int) -> set[int]:
        together.wait()
        found: set[int] = set()
        for _ in range(20):
            evaluation = evaluations.of(profile(plugin), pod(), snapshots[value])
            found |= set(scores(evaluation, *(f"n{index}" for index in range(200))))
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [{value} for value in range(8)]
