"""Two extenders in one configuration: each gets the nodes that the previous one passed."""

from __future__ import annotations

import pytest

from .berth.extender import ExtenderCache
from .berth.label_priority import NO_LABEL, none_available, priority
from .berth.recording_proxy import RecordingProxy
from .berth.second_extender import REASON, SecondExtender
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import Mode, filter_prioritize_bind

both_modes = pytest.mark.parametrize("mode", list(Mode))


@both_modes
def test_second_extender_gets_only_the_nodes_that_passed_berth(
    mode: Mode, cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    best = cluster.create_node("best", priority(30))
    good = cluster.create_node("good", priority(20))
    fair = cluster.create_node("fair", priority(10))
    cluster.create_node("unlabelled")
    cache.wait_for_scores({best: 30, good: 20, fair: 10})

    with SecondExtender(rejects={best}) as second:
        run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode), second.configuration)
        pod = cluster.create_pod("web")

        assert cluster.wait_until_assigned(pod) == good
        assert second.offered == [{best, good, fair}]


def test_event_contains_the_reasons_of_both_extenders(
    cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    rejected = cluster.create_node("rejected", priority(10))
    unlabelled = cluster.create_node("unlabelled")
    cache.wait_for_reasons({unlabelled: NO_LABEL})

    with SecondExtender(rejects={rejected}) as second:
        run_scheduler(second.configuration, filter_prioritize_bind(proxy.url_prefix))
        pod = cluster.create_pod("web")

        cluster.wait_for_failed_scheduling(pod, none_available({NO_LABEL: 1, REASON: 1}))
