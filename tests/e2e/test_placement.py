"""Placement by Berth: the highest label wins over the scores of the scheduler."""

from __future__ import annotations

import pytest

from .berth.extender import ExtenderCache
from .berth.label_priority import priority
from .berth.recording_proxy import RecordingProxy
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import Mode, filter_onlyone_bind, filter_prioritize_bind

both_modes = pytest.mark.parametrize("mode", list(Mode))


@pytest.mark.core
@pytest.mark.core_on_stack
@both_modes
def test_places_pod_on_the_node_with_the_highest_label_value(
    mode: Mode, cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    # Without Berth the scheduler spreads load and chooses one of the large nodes.
    best = cluster.create_node("best", priority(30), cpu="2")
    good = cluster.create_node("good", priority(10), cpu="16")
    unlabelled = cluster.create_node("unlabelled", cpu="16")
    cache.wait_for_scores({best: 30, good: 10})
    run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

    pod = cluster.create_pod("web")

    assert cluster.wait_until_assigned(pod) == best
    calls = proxy.calls(pod)
    assert [each.verb for each in calls] == ["filter", "prioritize", "bind"], [each.answer for each in calls]
    filtered, prioritized, bound = calls
    assert (filtered.verb, prioritized.verb, bound.verb) == ("filter", "prioritize", "bind")
    assert filtered.offered == {best, good, unlabelled}
    assert filtered.passed == {best, good}
    assert prioritized.scores == {best: 30, good: 10}


@pytest.mark.core
@both_modes
def test_filter_onlyone_passes_only_the_best_node(
    mode: Mode, cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    best = cluster.create_node("best", priority(11), cpu="2")
    good = cluster.create_node("good", priority(10), cpu="16")
    cache.wait_for_scores({best: 11, good: 10})
    run_scheduler(filter_onlyone_bind(proxy.url_prefix, mode=mode))

    pod = cluster.create_pod("web")

    assert cluster.wait_until_assigned(pod) == best
    filtered, bound = proxy.calls(pod)
    assert (filtered.verb, bound.verb) == ("filter_onlyone", "bind")
    assert filtered.offered == {best, good}
    assert filtered.passed == {best}
