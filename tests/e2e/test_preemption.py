"""Preemption: the scheduler proposes victims, Berth reviews them or adds others, and the pod gets their node.

Each test compares the victims with those of `berth simulate` on a dump of the same cluster. For a resource that only
Berth counts, Berth adds victims to those that the scheduler proposes for cpu.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import PROBE, ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.label_priority import NO_LABEL, priority
from .berth.recording_proxy import RecordingProxy
from .berth.simulation import SimulationResult, simulate
from .kubernetes.cluster import Cluster, Pod, PriorityClasses
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import ExtenderConfiguration, Mode, filter_prioritize_bind


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
    # The pod fits on the first node without the victims, and never on the other node.
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
    # At the pod's first attempt the cache may be behind (docs/concepts/late-view.md).
    assert (waited.verb, bool(waited.answer["Error"])) == ("filter", True)
    assert (filtered.verb, filtered.offered, filtered.passed) == ("filter", set(rejected), set())
    assert (preempted.verb, preempted.offered) == ("preempt", {full})

    cluster.end_containers(victim)

    assert cluster.wait_until_assigned(pod) == full


LICENCE = "example.com/licence"
NO_LICENCE = f"Insufficient {LICENCE}"

SEAT = "example.com/seat"

DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - {{name: {LICENCE}}}
  - {{name: {SEAT}, capacity: {{value: 1, scope: cluster}}}}
"""

POD_SPEC = {"containers": [{"name": "app", "resources": {"requests": {LICENCE: "1"}}}]}


@pytest.fixture(scope="module", autouse=True)
def _rights(control_plane: ControlPlane) -> Iterator[None]:
    with counted_resources(control_plane):
        yield


@pytest.fixture(scope="module")
def licences(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BerthServe]:
    with serve(control_plane, tmp_path_factory.mktemp("licences"), document=DOCUMENT) as berth:
        yield berth


def filter_bind_preempt(url_prefix: str, mode: Mode = Mode.CACHE) -> ExtenderConfiguration:
    return ExtenderConfiguration(
        url_prefix=url_prefix,
        filter_verb="filter",
        bind_verb="bind",
        preempt_verb="preempt",
        mode=mode,
        managed_resources=(LICENCE, SEAT),
    )


@dataclass(frozen=True)
class Scenario:
    """A pod that needs both victims evicted from `node`, and a second node with a pod that could be preempted."""

    node: str
    other: str
    cpu_victim: Pod
    licence_victim: Pod
    bystander: Pod
    pod: Pod


@pytest.fixture
def scenario(licences: BerthServe, cluster: Cluster) -> Scenario:
    values = {"low": 100, "middle": 200, "important": 300, "high": 1000}
    low, middle, important, high = (cluster.create_priority_class(name, value) for name, value in values.items())
    node = cluster.create_node("a", cpu="2", extended={LICENCE: "1"})
    other = cluster.create_node("b", cpu="1", extended={LICENCE: "1"})
    cpu_victim = cluster.create_pod("batch", priority_class=low, cpu="1500m", node=node)
    licence_victim = cluster.create_pod("holder", priority_class=middle, node=node, extended={LICENCE: "1"})
    bystander = cluster.create_pod("important", priority_class=important, cpu="1", node=other)
    ExtenderCache(licences).wait_for_reasons({node: NO_LICENCE}, of={**PROBE, "spec": POD_SPEC})
    pod = cluster.create_pod("high", priority_class=high, cpu="1", extended={LICENCE: "1"})
    return Scenario(node, other, cpu_victim, licence_victim, bystander, pod)


@pytest.mark.parametrize("mode", list(Mode))
def test_preempt_adds_a_victim_that_uses_the_counted_resource(
    mode: Mode, licences: BerthServe, cluster: Cluster, scenario: Scenario, run_scheduler: RunScheduler
) -> None:
    expected = simulate(cluster, scenario.pod.name, document=DOCUMENT)
    with RecordingProxy(licences.url_prefix) as proxy:
        run_scheduler(filter_bind_preempt(proxy.url_prefix, mode))

        assert cluster.wait_until_nominated(scenario.pod) == scenario.node
        for victim in (scenario.cpu_victim, scenario.licence_victim):
            cluster.wait_until_evicted(victim)
        assert expected == SimulationResult(
            scenario.node, frozenset({scenario.cpu_victim.uid, scenario.licence_victim.uid})
        )
        preempted = proxy.calls(scenario.pod)[0]
        elsewhere = {scenario.other: [scenario.bystander.uid]}
        assert preempted.proposed == {scenario.node: [scenario.cpu_victim.uid], **elsewhere}
        assert preempted.victims == {scenario.node: [scenario.licence_victim.uid, scenario.cpu_victim.uid], **elsewhere}

        for victim in (scenario.cpu_victim, scenario.licence_victim):
            cluster.end_containers(victim)

        assert cluster.wait_until_assigned(scenario.pod) == scenario.node
        assert not cluster.state(scenario.bystander).terminating


NO_SEAT = f"Insufficient {SEAT} in the cluster"


@dataclass(frozen=True)
class SeatHolder:
    """A pod of low priority that holds the only seat, and most of the cpu of the node."""

    pod: Pod
    node: str
    high: str


@pytest.fixture
def holder(licences: BerthServe, cluster: Cluster) -> SeatHolder:
    low, high = (cluster.create_priority_class(name, value) for name, value in {"low": 100, "high": 1000}.items())
    node = cluster.create_node("held", cpu="2")
    pod = cluster.create_pod("holder", priority_class=low, cpu="1500m", node=node, extended={SEAT: "1"})
    asks = {"containers": [{"name": "app", "resources": {"requests": {SEAT: "1"}}}]}
    ExtenderCache(licences).wait_for_reasons({node: NO_SEAT}, of={**PROBE, "spec": asks})
    return SeatHolder(pod, node, high)


@pytest.mark.parametrize(
    ("cpu", "evicts"),
    [
        pytest.param("100m", False, id="the pod lacks a seat"),
        pytest.param("1", True, id="the pod lacks a seat and cpu"),
    ],
)
def test_evicts_the_holder_of_a_seat_only_if_cpu_is_missing_too(
    cpu: str, evicts: bool, licences: BerthServe, cluster: Cluster, holder: SeatHolder, run_scheduler: RunScheduler
) -> None:
    run_scheduler(filter_bind_preempt(licences.url_prefix))
    pod = cluster.create_pod("high", priority_class=holder.high, cpu=cpu, extended={SEAT: "1"})
    if evicts:
        cluster.wait_until_evicted(holder.pod)
    else:
        cluster.wait_until_unschedulable(pod, f"0/1 nodes are available: 1 {NO_SEAT}")
        assert not cluster.state(holder.pod).terminating
    cluster.end_containers(holder.pod)
    assert cluster.wait_until_assigned(pod) == holder.node
