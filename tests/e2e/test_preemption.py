"""Preemption: the scheduler proposes victims, Berth agrees, and the pod gets the node that they leave."""

from __future__ import annotations

import pytest

from .cluster import Cluster
from .control_plane import RunScheduler
from .extender import ExtenderCache
from .label_priority import priority
from .recording_proxy import RecordingProxy
from .scheduler_configuration import Mode, filter_prioritize_bind


@pytest.mark.parametrize("mode", list(Mode))
def test_the_least_important_victims_make_room(
    mode: Mode, cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    low = cluster.create_priority_class("low", 100)
    middle = cluster.create_priority_class("middle", 200)
    high = cluster.create_priority_class("high", 1000)
    node_of_low = cluster.create_node("a", priority(10), cpu="1")
    node_of_middle = cluster.create_node("b", priority(20), cpu="1")
    victim = cluster.create_pod("low", priority_class=low, cpu="1", node=node_of_low)
    survivor = cluster.create_pod("middle", priority_class=middle, cpu="1", node=node_of_middle)
    cache.wait_for_scores({node_of_low: 10, node_of_middle: 20})
    run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

    pod = cluster.create_pod("high", priority_class=high, cpu="1")

    assert cluster.wait_until_nominated(pod) == node_of_low
    cluster.wait_until_evicted(victim)
    assert not cluster.state(survivor).terminating
    preempted = proxy.calls(pod)[0]
    assert preempted.verb == "preempt"
    assert preempted.offered == {node_of_low, node_of_middle}
    assert preempted.victims == {node_of_low: [victim.uid], node_of_middle: [survivor.uid]}

    cluster.end_containers(victim)

    assert cluster.wait_until_assigned(pod) == node_of_low


def test_no_pod_is_evicted_from_a_node_that_berth_rejects(
    cluster: Cluster, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    """The full unlabelled node has the cheaper victim, but the pod could not go there."""
    low = cluster.create_priority_class("low", 100)
    middle = cluster.create_priority_class("middle", 200)
    high = cluster.create_priority_class("high", 1000)
    unlabelled = cluster.create_node("unlabelled", cpu="1")
    labelled = cluster.create_node("labelled", priority(10), cpu="1")
    bystander = cluster.create_pod("low", priority_class=low, cpu="1", node=unlabelled)
    victim = cluster.create_pod("middle", priority_class=middle, cpu="1", node=labelled)
    cache.wait_for_scores({labelled: 10})
    run_scheduler(filter_prioritize_bind(proxy.url_prefix))

    pod = cluster.create_pod("high", priority_class=high, cpu="1")

    assert cluster.wait_until_nominated(pod) == labelled
    cluster.wait_until_evicted(victim)
    assert not cluster.state(bystander).terminating
