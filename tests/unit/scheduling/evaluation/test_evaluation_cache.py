"""The first call of a shape blocks only calls of the same shape."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.framework.plugin import SUCCESS, ClusterFilter, ClusterFilterPlugin, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node
from tests.builders.pods import pod, pod_with


class Passes(ClusterFilter):
    def filter(self, node: NodeInfo) -> Status:
        return SUCCESS

    def updated_to(self, snapshot: Snapshot, step: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        return self, ()

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self


class TakesLong(ClusterFilterPlugin):
    """Blocks pods of the namespace `slow` until `go_on` is set."""

    name = "TakesLong"

    def __init__(self) -> None:
        self.counting, self.go_on, self.counted = Event(), Event(), 0

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        self.counted += 1
        if pod.namespace == "slow":
            self.counting.set()
            assert self.go_on.wait(30)
        return Passes()

    def shape(self, pod: Pod) -> Hashable:
        return pod.namespace


@pytest.mark.parametrize("same_snapshot", [True, False], ids=["of one snapshot", "of another snapshot"])
def test_first_call_for_one_shape_does_not_block_another_shape(same_snapshot: bool) -> None:
    plugin, evaluations, snapshot = TakesLong(), EvaluationCache(), Snapshot.of([node("a")])
    profile = Profile("test", (plugin,), ())
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(evaluations.of, profile, pod(namespace="slow"), snapshot)
        assert plugin.counting.wait(30)
        asked = snapshot if same_snapshot else Snapshot.of([node("a")])
        assert evaluations.of(profile, pod(namespace="quick"), asked).statuses["a"] is SUCCESS
        assert not slow.done()
        plugin.go_on.set()
        assert slow.result(30).statuses["a"] is SUCCESS


def test_second_call_for_a_shape_waits_and_does_not_evaluate_again() -> None:
    plugin, evaluations, snapshot = TakesLong(), EvaluationCache(), Snapshot.of([node("a")])
    profile = Profile("test", (plugin,), ())
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(evaluations.of, profile, pod(namespace="slow"), snapshot) for _ in range(4)]
        assert plugin.counting.wait(30)
        plugin.go_on.set()
        assert len({id(call.result(30)) for call in calls}) == 1
    assert plugin.counted == 1


def test_call_on_an_earlier_snapshot_does_not_replace_the_cached_evaluation() -> None:
    plugin, evaluations = TakesLong(), EvaluationCache()
    profile = Profile("test", (plugin,), ())
    earlier = Snapshot.of([node("a")])
    later = earlier.with_changes(Changes(nodes=[node("a", {"new": ""})]))
    brought_on = [evaluations.of(profile, pod(namespace="n"), each) for each in (earlier, later)][-1]
    assert evaluations.of(profile, pod(namespace="n"), earlier).snapshot is earlier
    assert evaluations.of(profile, pod(namespace="n"), later) is brought_on


def hostile(number: int, tolerations: int) -> Pod:
    found = read_pod(
        pod_with(f"hostile-{number}", tolerations=[{"key": f"key-{number}-{index}"} for index in range(tolerations)])
    )
    assert isinstance(found, Pod)
    return found


def test_size_stays_within_the_byte_limit_for_many_hostile_shapes() -> None:
    evaluations, snapshot = EvaluationCache(max_bytes=2_000_000), Snapshot.of([node("a")])
    profile = BerthConfiguration().build_profile("full")
    most = 0
    for number in range(100):
        evaluations.of(profile, hostile(number, 100), snapshot)
        most = max(most, evaluations.size)
    assert 1_000_000 < most <= 2_000_000


def test_shape_that_is_too_large_is_not_cached() -> None:
    evaluations, snapshot = EvaluationCache(max_bytes=2_000_000), Snapshot.of([node("a")])
    profile = BerthConfiguration().build_profile("full")
    small = evaluations.of(profile, hostile(0, 1), snapshot)
    before = evaluations.size
    for number in range(1, 10):
        evaluations.of(profile, hostile(number, 2_000), snapshot)
    assert evaluations.size == before
    assert evaluations.of(profile, hostile(0, 1), snapshot) is small
