"""A pod that Berth rejects on all nodes: its event, the number of retries, and its placement after a change."""

from __future__ import annotations

import time

import pytest

from .berth.extender import ExtenderCache
from .berth.label_priority import NO_LABEL, none_available
from .berth.recording_proxy import RecordingProxy
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import filter_onlyone_bind, filter_prioritize_bind

QUIET_SECONDS = 20
MAX_CALLS_WHILE_QUIET = 3


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone"])
def test_rejected_pod_is_not_retried_in_a_loop(
    verb: str, cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    """Pods of lower priority on all nodes could cause endless retries (contract fact 15)."""
    low = cluster.create_priority_class("low", 100)
    high = cluster.create_priority_class("high", 1000)
    nodes = [cluster.create_node(f"node-{number}") for number in range(20)]
    for number, node in enumerate(nodes):
        cluster.create_pod(f"running-{number}", priority_class=low, node=node)
    cache.wait_for_reasons(dict.fromkeys(nodes, NO_LABEL))
    configure = filter_prioritize_bind if verb == "filter" else filter_onlyone_bind
    run_scheduler(configure(proxy.url_prefix))

    pod = cluster.create_pod("web", priority_class=high)
    cluster.wait_for_failed_scheduling(pod, none_available({NO_LABEL: 20}))
    time.sleep(QUIET_SECONDS)

    assert 1 <= len(proxy.calls(pod)) <= MAX_CALLS_WHILE_QUIET
    assert set(proxy.verbs(pod)) == {verb}
