"""Preemption: the scheduler proposes victims, Berth reviews them or adds some, and the pod gets their node.

Each test compares the victims with those of `berth simulate` on a dump of the same cluster.
"""

from __future__ import annotations

import pytest

from .berth.extender import ExtenderCache
from .berth.label_priority import NO_LABEL, priority
from .berth.recording_proxy import RecordingProxy
from .berth.simulation import SimulationResult, simulate
from .kubernetes.cluster import Cluster, PriorityClasses
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import Mode, filter_prioritize_bind


@pytest.mark.core
@pytest.mark.parametrize("mode", list(Mode))
def test_evicts_only_lowest_priority_victims(
    mode: Mode,
    cluster: Cluster,
    classes: PriorityClasses,
    cache: ExtenderCache,
    proxy: RecordingProxy,
    run_scheduler: RunScheduler,
) -> None:
    node = cluster.create_node("a", priority(10), cpu="3")
    other = cluster.create_node("b", priority(20), cpu="1")
    victims = [cluster.create_pod(f"low-{n}", priority_class=classes.low, cpu="1", node=node) for n in (1, 2)]
    survivor = cluster.create_pod("beside", priority_class=classes.middle, cpu="1", node=node)
    elsewhere = cluster.create_pod("middle", priority_class=classes.middle, cpu="1", node=other)
    cache.wait_for_scores({node: 10, other: 20})
    # It fits on the first node without the victims, and never on the other node.
    pod = cluster.create_pod("high", priority_class=classes.high, cpu="2")
    expected = simulate(cluster, pod.name)
    run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

    assert cluster.wait_until_nominated(pod) == node
    for victim in victims:
        cluster.wait_until_evicted(victim)
    assert expected == SimulationResult(node, frozenset(victim.uid for victim in victims))
    assert not any(cluster.state(each).terminating for each in (survivor, elsewhere))
    preempted = proxy.calls(pod)[0]
    assert (preempted.verb, preempted.offered) == ("preempt", {node})
    assert {node: set(uids) for node, uids in preempted.victims.items()} == {node: expected.victims}

    for victim in victims:
        cluster.end_containers(victim)

    assert cluster.wait_until_assigned(pod) == node


def test_preempts_only_on_the_node_that_berth_does_not_reject(
    cluster: Cluster, classes: PriorityClasses, cache: ExtenderCache, proxy: RecordingProxy, run_scheduler: RunScheduler
) -> None:
    """The nodes that Berth rejects have free cpu and pods of lower priority."""
    rejected = [cluster.create_node(f"rejected-{number}", cpu="4") for number in range(3)]
    full = cluster.create_node("full", priority(10), cpu="1")
    bystanders = [
        cluster.create_pod(f"low-{number}", priority_class=classes.low, node=node)
        for number, node in enumerate(rejected)
    ]
    victim = cluster.create_pod("middle", priority_class=classes.middle, cpu="1", node=full)
    cache.wait_for_reasons(dict.fromkeys(rejected, NO_LABEL))
    cache.wait_for_scores({full: 10})
    pod = cluster.create_pod("high", priority_class=classes.high, cpu="1")
    expected = simulate(cluster, pod.name)
    run_scheduler(filter_prioritize_bind(proxy.url_prefix))

    assert cluster.wait_until_nominated(pod) == full
    cluster.wait_until_evicted(victim)
    assert expected == SimulationResult(full, frozenset({victim.uid}))
    assert not any(cluster.state(each).terminating for each in bystanders)
    waited, filtered, preempted = proxy.calls(pod)[:3]
    # At its first attempt the cache may be behind (docs/concepts/late-view.md).
    assert (waited.verb, bool(waited.answer["Error"])) == ("filter", True)
    assert (filtered.verb, filtered.offered, filtered.passed) == ("filter", set(rejected), set())
    assert (preempted.verb, preempted.offered) == ("preempt", {full})

    cluster.end_containers(victim)

    assert cluster.wait_until_assigned(pod) == full
