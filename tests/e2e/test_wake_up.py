"""Wake-up of rejected pods (facts 41 to 43): Berth wakes them after its cache contains the change.

The cluster is idle: without Berth's wake-up a pod would be pending for minutes.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .berth.extender import Extender, ExtenderCache
from .berth.identities import serve
from .berth.label_priority import NO_LABEL, none_available, priority
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind
from .kubernetes.wake_object import WakeObject

PLACED_SECONDS = 5.0
LOOP_SECONDS = 60
QUIET_SECONDS = 10
LATE_REJECTION_SECONDS = 3.0

ANTI_AFFINITY = """\
profile: anti-affinity
definitions:
  anti-affinity:
    plugins:
      enabled: [{name: InterPodAffinity}]
"""


@pytest.fixture
def wake_object(control_plane: ControlPlane) -> WakeObject:
    return WakeObject(KubernetesApi(control_plane.credentials()))


def create_rejected_pod(cluster: Cluster, name: str, nodes: int) -> Pod:
    """A pod that Berth rejected on all nodes and that waits in the scheduling queue."""
    pod = cluster.create_pod(name)
    cluster.wait_for_failed_scheduling(pod, none_available({NO_LABEL: nodes}))
    time.sleep(2)  # the scheduler retries once immediately (fact 41)
    return pod


def assert_placed_in_time(cluster: Cluster, pod: Pod, node: str, since: float) -> None:
    assert cluster.wait_until_assigned(pod) == node
    assert time.monotonic() - since <= PLACED_SECONDS


@pytest.mark.core
def test_changed_label_wakes_pod(
    cluster: Cluster, cache: ExtenderCache, extender: Extender, run_scheduler: RunScheduler
) -> None:
    node = cluster.create_node("node")
    cache.wait_for_reasons({node: NO_LABEL})
    run_scheduler(filter_prioritize_bind(extender.url_prefix))
    pod = create_rejected_pod(cluster, "web", nodes=1)

    since = time.monotonic()
    cluster.relabel(node, priority(10))

    assert_placed_in_time(cluster, pod, node, since)


def test_new_node_wakes_pod(
    cluster: Cluster, cache: ExtenderCache, extender: Extender, run_scheduler: RunScheduler
) -> None:
    node = cluster.create_node("node")
    cache.wait_for_reasons({node: NO_LABEL})
    run_scheduler(filter_prioritize_bind(extender.url_prefix))
    pod = create_rejected_pod(cluster, "web", nodes=1)

    since = time.monotonic()
    added = cluster.create_node("added", priority(10))

    assert_placed_in_time(cluster, pod, added, since)


def test_pod_deletion_wakes_pending_pods_once(
    cluster: Cluster,
    cache: ExtenderCache,
    extender: Extender,
    run_scheduler: RunScheduler,
    wake_object: WakeObject,
) -> None:
    """This profile does not count pods, so Berth rejects the pending pod again and wakes it no more."""
    node = cluster.create_node("node")
    running = cluster.create_pod("running", node=node)
    cache.wait_for_reasons({node: NO_LABEL})
    run_scheduler(filter_prioritize_bind(extender.url_prefix))
    create_rejected_pod(cluster, "web", nodes=1)
    before = wake_object.version()

    cluster.end_containers(running)
    deadline = time.monotonic() + PLACED_SECONDS
    while wake_object.version() == before:
        assert time.monotonic() < deadline, "no wake-up"
        time.sleep(0.1)

    time.sleep(LATE_REJECTION_SECONDS)
    assert wake_object.patches(LOOP_SECONDS) == 0


def test_places_pod_after_conflicting_pod_ends(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    """Berth decides anti-affinity on its cache, and the scheduler retries before the cache has the deletion."""
    with serve(control_plane, tmp_path, document=ANTI_AFFINITY) as berth:
        node = cluster.create_node("node")
        running = cluster.create_pod("running", node=node, labels={"app": "web"})
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        pod = cluster.create_pod("web", labels={"app": "web"}, apart_from={"app": "web"})
        cluster.wait_for_failed_scheduling(pod, none_available({"node(s) didn't match pod anti-affinity rules": 1}))
        time.sleep(LATE_REJECTION_SECONDS)

        since = time.monotonic()
        cluster.end_containers(running)

        assert_placed_in_time(cluster, pod, node, since)


def test_patches_nothing_without_pending_pods(
    cluster: Cluster, cache: ExtenderCache, extender: Extender, wake_object: WakeObject
) -> None:
    node = cluster.create_node("node")
    cache.wait_for_reasons({node: NO_LABEL})
    time.sleep(LATE_REJECTION_SECONDS)
    before = wake_object.version()

    for value in range(QUIET_SECONDS):
        cluster.relabel(node, priority(value))
        time.sleep(1)

    assert wake_object.version() == before
