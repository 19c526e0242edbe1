"""Preemption for a resource that only Berth counts: the scheduler proposes who frees cpu, and that is not all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .berth_serve import BerthServe
from .cluster import Cluster, Pod
from .control_plane import ControlPlane, RunScheduler
from .extender import PROBE, ExtenderCache
from .identities import counted_resources, serve
from .label_priority import none_available
from .recording_proxy import RecordingProxy
from .scheduler_configuration import ExtenderConfiguration, Mode
from .simulation import Simulated, simulated

LICENCE = "example.com/licence"
NO_LICENCE = f"Insufficient {LICENCE}"
NO_CPU = "Insufficient cpu"
WAITING = "preemption: not eligible due to a terminating pod on the nominated node."

DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources: [{{name: {LICENCE}}}]
"""

ASKING = {"containers": [{"name": "app", "resources": {"requests": {LICENCE: "1"}}}]}


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
        managed_resources=(LICENCE,),
    )


@dataclass(frozen=True)
class Scene:
    """A pod that needs both victims gone from `node`, and the pod of a second node that could be preempted."""

    node: str
    other: str
    for_cpu: Pod
    for_licence: Pod
    bystander: Pod
    pod: Pod


@pytest.fixture
def scene(licences: BerthServe, cluster: Cluster) -> Scene:
    values = {"low": 100, "middle": 200, "important": 300, "high": 1000}
    low, middle, important, high = (cluster.create_priority_class(name, value) for name, value in values.items())
    node = cluster.create_node("a", cpu="2", extended={LICENCE: "1"})
    other = cluster.create_node("b", cpu="1", extended={LICENCE: "1"})
    for_cpu = cluster.create_pod("batch", priority_class=low, cpu="1500m", node=node)
    for_licence = cluster.create_pod("holder", priority_class=middle, node=node, extended={LICENCE: "1"})
    bystander = cluster.create_pod("important", priority_class=important, cpu="1", node=other)
    ExtenderCache(licences).wait_for_reasons({node: NO_LICENCE}, of={**PROBE, "spec": ASKING})
    pod = cluster.create_pod("high", priority_class=high, cpu="1", extended={LICENCE: "1"})
    return Scene(node, other, for_cpu, for_licence, bystander, pod)


@pytest.mark.parametrize("mode", list(Mode))
def test_adds_victim_that_holds_the_counted_resource(
    mode: Mode, licences: BerthServe, cluster: Cluster, scene: Scene, run_scheduler: RunScheduler
) -> None:
    expected = simulated(cluster, scene.pod.name, document=DOCUMENT)
    with RecordingProxy(licences.url_prefix) as proxy:
        run_scheduler(filter_bind_preempt(proxy.url_prefix, mode))

        assert cluster.wait_until_nominated(scene.pod) == scene.node
        for victim in (scene.for_cpu, scene.for_licence):
            cluster.wait_until_evicted(victim)
        assert expected == Simulated(scene.node, frozenset({scene.for_cpu.uid, scene.for_licence.uid}))
        preempted = proxy.calls(scene.pod)[0]
        elsewhere = {scene.other: [scene.bystander.uid]}
        assert preempted.proposed == {scene.node: [scene.for_cpu.uid], **elsewhere}
        assert preempted.victims == {scene.node: [scene.for_licence.uid, scene.for_cpu.uid], **elsewhere}

        for victim in (scene.for_cpu, scene.for_licence):
            cluster.end_containers(victim)

        assert cluster.wait_until_assigned(scene.pod) == scene.node
        assert not cluster.state(scene.bystander).terminating


def test_preempts_no_second_node_while_a_victim_terminates(
    licences: BerthServe, cluster: Cluster, scene: Scene, run_scheduler: RunScheduler
) -> None:
    """The first to be gone has the cpu. From then on only Berth is not content with the nominated node (fact 15a)."""
    pod, node = scene.pod, scene.node
    with RecordingProxy(licences.url_prefix) as proxy:
        run_scheduler(filter_bind_preempt(proxy.url_prefix))
        assert cluster.wait_until_nominated(pod) == node
        for victim in (scene.for_cpu, scene.for_licence):
            cluster.wait_until_evicted(victim)
        # The cache is a second behind: a victim that is gone before it was seen to leave is another matter.
        ExtenderCache(licences).wait_for_resolvable({node: NO_LICENCE}, of=cluster.object(pod))

        cluster.end_containers(scene.for_cpu)

        rejected = none_available({NO_CPU: 1, NO_LICENCE: 1})
        assert cluster.wait_until_unschedulable(pod, rejected).endswith(WAITING)
        waiting = simulated(cluster, pod.name, document=DOCUMENT)
        assert (waiting, waiting.message) == (Simulated(None), f"{rejected} {WAITING}")
        assert cluster.state(pod).nominated_node == node
        assert not cluster.state(scene.bystander).terminating

        cluster.end_containers(scene.for_licence)

        assert cluster.wait_until_assigned(pod) == node
        assert not cluster.state(scene.bystander).terminating
        # The scheduler may see the last one gone before Berth does, and asks about the other node then.
        _, *later = [call for call in proxy.calls(pod) if call.verb == "preempt"]
        assert all(call.victims == {} for call in later)


def test_leaves_out_node_without_lower_priority_holder(
    licences: BerthServe, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    """To the scheduler that node looks better."""
    low = cluster.create_priority_class("low", 100)
    middle = cluster.create_priority_class("middle", 200)
    high = cluster.create_priority_class("high", 1000)
    held = cluster.create_node("a", cpu="1", extended={LICENCE: "1"})
    free = cluster.create_node("b", cpu="1", extended={LICENCE: "1"})
    bystander = cluster.create_pod("low", priority_class=low, cpu="900m", node=held)
    cluster.create_pod("equal", priority_class=high, node=held, extended={LICENCE: "1"})
    victim = cluster.create_pod("middle", priority_class=middle, cpu="1", node=free)
    ExtenderCache(licences).wait_for_reasons({held: NO_LICENCE}, of={**PROBE, "spec": ASKING})
    pod = cluster.create_pod("high", priority_class=high, cpu="500m", extended={LICENCE: "1"})
    expected = simulated(cluster, pod.name, document=DOCUMENT)
    run_scheduler(filter_bind_preempt(licences.url_prefix))

    assert cluster.wait_until_nominated(pod) == free
    cluster.wait_until_evicted(victim)
    assert expected == Simulated(free, frozenset({victim.uid}))
    assert not cluster.state(bystander).terminating
