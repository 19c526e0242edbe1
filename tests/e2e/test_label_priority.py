"""The profile `label-priority` from a cluster without labels to changed priorities, with both filter verbs."""

from __future__ import annotations

from .berth.extender import ExtenderCache
from .berth.label_priority import NO_LABEL, none_available, priority
from .berth.recording_proxy import RecordingProxy
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import filter_onlyone_bind, filter_prioritize_bind


def test_pods_follow_highest_label_as_labels_change(
    cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    worker_1, worker_2 = cluster.create_node("worker-1"), cluster.create_node("worker-2")
    run_scheduler(filter_prioritize_bind(proxy.url_prefix))

    # No node has the label: the pod is pending, and its event has the reason.
    first = cluster.create_pod("nginx-1")
    cluster.wait_for_failed_scheduling(first, none_available({NO_LABEL: 2}))
    assert cluster.state(first).node is None

    # One node gets the label: the pod is placed there.
    cluster.relabel(worker_1, priority(10))
    assert cluster.wait_until_assigned(first) == worker_1

    # The other node gets a higher priority: prioritize decides for it.
    cluster.relabel(worker_2, priority(20))
    cache.wait_for_scores({worker_1: 10, worker_2: 20})
    second = cluster.create_pod("nginx-2")
    assert cluster.wait_until_assigned(second) == worker_2
    assert proxy.verbs(second) == ["filter", "prioritize", "bind"]

    # filter_onlyone passes the same node, and the scheduler does not call prioritize.
    run_scheduler(filter_onlyone_bind(proxy.url_prefix))
    third = cluster.create_pod("nginx-3")
    assert cluster.wait_until_assigned(third) == worker_2
    assert proxy.verbs(third) == ["filter_onlyone", "bind"]

    # The first node gets the highest priority.
    cluster.relabel(worker_1, priority(30))
    cache.wait_for_scores({worker_1: 30, worker_2: 20})
    fourth = cluster.create_pod("nginx-4")
    assert cluster.wait_until_assigned(fourth) == worker_1
