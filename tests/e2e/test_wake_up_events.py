"""Every kind of change that can make a waiting pod fit, in an otherwise idle cluster: without Berth's wake-up the pod
would be pending for minutes (facts 41 to 43).

If the scheduler's own plugins evaluate rules about other pods, they wake the pod at once: too early for Berth's cache.
If they are disabled, only Berth wakes the pod.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .berth.berth_serve import BerthServe
from .berth.identities import EXAMPLES, identities, serve
from .berth.recording_proxy import RecordingProxy
from .berth.stack import DeployedStack
from .gangs.members import wait_until
from .gangs.scheduler import GangScheduler
from .gangs.targets import Figures
from .kubernetes.cluster import Cluster, Pod, Taint
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind, scheduler_configuration

LOST_SECONDS = 20.0
"""Seconds after which a pending pod counts as forgotten. Only TARGETS=1 enforces the targets."""
QUIET_SECONDS = 4.0
"""Seconds after a rejection in which the scheduler may retry, and the watcher may wake the pod."""
ROUNDS = 20

WAKE_OBJECT = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities/berth-wake"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
FULL, RULES = "full", "rules"
DOCUMENT = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: ready
profiles: {rules: rules, full: full}
definitions:
  rules:
    plugins:
      enabled:
        - name: InterPodAffinity
        - name: PodTopologySpread
        - name: berth_plugins.one_per_team:OnePerTeam
  ready: {plugins: {enabled: [{name: NodeReady}]}}
gangs: {enabled: true, timeout: 30}
"""
# For a deployed stack: each member in bind is a function that starts on this machine.
STACK_TIMEOUT_SECONDS = 30
GANG, SIZE, TOPOLOGY_KEY = "berth.dev/gang", "berth.dev/gang-size", "berth.dev/gang-topology-key"


class Scene:
    """A node, pods on it, and waiting pods. scheduler: the schedulerName of the pods."""

    def __init__(self, cluster: Cluster, api: KubernetesApi) -> None:
        self.cluster, self.api = cluster, api
        self.scheduler = RULES
        self.node = cluster.create_node("node", {ZONE: "a"})
        self.waiting: list[Pod] = []
        self.prepare: Callable[[], object] = lambda: None

    def create(self, name: str, node: str = "", namespace: str = "default", **parts: Any) -> Pod:
        """Create a pod. parts: of metadata and spec. No test reuses a name, because wake-ups are limited by name."""
        name = f"{name}-{self.node}"
        metadata: dict[str, Any] = {key: parts.pop(key) for key in ("labels", "annotations") if key in parts}
        requests = {"cpu": parts.pop("cpu", "10m")}
        containers = [{"name": "app", "image": "app", "resources": {"requests": requests}}]
        spec = {"containers": containers, "nodeName": node, "schedulerName": self.scheduler, **parts}
        body = {"metadata": {"name": name, **metadata}, "spec": spec}
        created = self.api.create(f"/api/v1/namespaces/{namespace}/pods", body)
        return Pod(namespace, name, created["metadata"]["uid"])

    def wait(self, name: str = "waiting", **parts: Any) -> Pod:
        self.waiting.append(self.create(name, **parts))
        return self.waiting[-1]

    def patch(self, pod: Pod, **metadata: Any) -> None:
        self.api.patch(pod.path, {"metadata": metadata})

    def uneven_zones(self) -> tuple[Pod, str]:
        """Create a matching pod in the only zone that is open for the waiting pod, and a node of another zone."""
        closed = self.cluster.create_node("closed", {ZONE: "b"}, taints=[Taint("closed", "NoSchedule")])
        other = self.create("other", self.node, labels={"app": "web"})
        self.wait(labels={"app": "web"}, topologySpreadConstraints=[SPREAD])
        return other, closed

    def seconds_until_placed(self, change: Callable[[], object]) -> float:
        """Return the seconds from the change until all waiting pods have a node."""
        began = time.monotonic()
        change()
        wait_until("the pods are placed", lambda: all(self._node_of(pod) for pod in self.waiting), LOST_SECONDS)
        return time.monotonic() - began

    def _node_of(self, pod: Pod) -> str | None:
        return self.cluster.state(pod).node


Setup = Callable[[Scene], Callable[[], object]]
"""Creates the pods, and returns the function that makes the change."""

SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def _terms(kind: str, app: str, **term: Any) -> JsonObject:
    required = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME, **term}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}


NEAR_DB, APART_FROM_WEB = _terms("podAffinity", "db"), _terms("podAntiAffinity", "web")


def _label_meets_affinity(scene: Scene) -> Callable[[], object]:
    other = scene.create("other", scene.node, labels={"app": "web"})
    scene.wait(affinity=NEAR_DB)
    return lambda: scene.patch(other, labels={"app": "db"})


def _removal_ends_anti_affinity_of_other_pod(scene: Scene) -> Callable[[], object]:
    other = scene.create("other", scene.node, affinity=APART_FROM_WEB)
    scene.wait(labels={"app": "web"})
    return lambda: scene.cluster.end_containers(other)


def _termination_meets_spread(scene: Scene) -> Callable[[], object]:
    other, _ = scene.uneven_zones()
    return lambda: scene.api.delete(other.path)


def _removed_node_meets_spread(scene: Scene) -> Callable[[], object]:
    _, closed = scene.uneven_zones()
    return lambda: scene.cluster.delete_node(closed)


def _neighbour_changes_team(scene: Scene) -> Callable[[], object]:
    other = scene.create("other", scene.node, labels={"team": "blue"})
    scene.wait(labels={"team": "blue"})
    return lambda: scene.patch(other, labels={"team": "green"})


def _label_of_namespace_meets_affinity(scene: Scene) -> Callable[[], object]:
    scene.create("other", scene.node, namespace="kube-system", labels={"app": "db"})
    key = f"e2e-{scene.node}"  # the label stays after the test
    scene.wait(affinity=_terms("podAffinity", "db", namespaceSelector={"matchLabels": {key: "yes"}}))
    return lambda: scene.api.patch("/api/v1/namespaces/kube-system", {"metadata": {"labels": {key: "yes"}}})


KINDS: dict[str, Setup] = {
    "a label meets affinity": _label_meets_affinity,
    "a removal ends anti-affinity of the other pod": _removal_ends_anti_affinity_of_other_pod,
    "the end of a pod meets spread": _termination_meets_spread,
    "a removed node meets spread": _removed_node_meets_spread,
    "a neighbour changes its team": _neighbour_changes_team,
    "a label of a namespace meets affinity": _label_of_namespace_meets_affinity,
}
BERTHS_ALONE = {"the end of a pod meets spread", "a label of a namespace meets affinity"}
"""Changes after which the scheduler's own plugins do not wake the pods."""


@pytest.fixture
def scene(cluster: Cluster, api: KubernetesApi) -> Scene:
    return Scene(cluster, api)


class Target:
    """The Berth under test, and the seconds after a change within which a pod and a gang must have their nodes.

    The limits of the stack are higher: it publishes every half second, and the emulator's functions are slower.
    """

    def __init__(self, berth: BerthServe | DeployedStack, control_plane: ControlPlane) -> None:
        self._berth, self._control_plane = berth, control_plane
        self.url_prefix = berth.url_prefix
        is_stack = isinstance(berth, DeployedStack)
        self.where = "stack" if is_stack else "serve"
        self.pod_seconds, self.gang_seconds = (5.0, 8.0) if is_stack else (2.0, 5.0)

    def scheduler(
        self, url_prefix: str = "", *, name: str = RULES, disabled: Sequence[str] = ()
    ) -> AbstractContextManager[object]:
        """Run a scheduler for pods with this schedulerName. disabled: plugins of the scheduler that are off."""
        configuration = scheduler_configuration([filter_prioritize_bind(url_prefix or self.url_prefix)])
        profile = {
            "schedulerName": name,
            "plugins": {"multiPoint": {"disabled": [{"name": each} for each in disabled]}},
        }
        return self._control_plane.scheduler({**configuration, "profiles": [profile]})

    def gang_scheduler(self, directory: Path) -> AbstractContextManager[object]:
        found = GangScheduler(self._control_plane, directory)
        return (
            found.run_for(self._berth)
            if isinstance(self._berth, DeployedStack)
            else found.run(self.url_prefix, DOCUMENT)
        )


@pytest.fixture(scope="module", params=["serve", pytest.param("stack", marks=pytest.mark.stack)])
def target(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    directory, plugins = tmp_path_factory.mktemp(f"events-{request.param}"), EXAMPLES / "custom-plugin"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(plugins))
        if request.param == "serve":
            with serve(control_plane, directory, document=DOCUMENT) as server:
                yield Target(server, control_plane)
        else:
            parameters = {"HttpTimeoutSeconds": str(STACK_TIMEOUT_SECONDS)}
            with DeployedStack(identities(control_plane), directory, parameters, plugins=plugins) as stack:
                stack.apply(DOCUMENT)
                yield Target(stack, control_plane)


@pytest.mark.parametrize("has_own_plugins", [True, False], ids=["with own plugins", "Berth alone"])
@pytest.mark.parametrize("kind", KINDS)
def test_waiting_pod_is_placed_soon_after_a_change_that_helps_it(
    kind: str, has_own_plugins: bool, scene: Scene, target: Target, figures: Figures
) -> None:
    if has_own_plugins and kind in BERTHS_ALONE:
        pytest.skip("kube-scheduler does not retry either")
    change = KINDS[kind](scene)
    with target.scheduler(disabled=() if has_own_plugins else ("InterPodAffinity", "PodTopologySpread")):
        scene.cluster.wait_until_unschedulable(scene.waiting[0], "0/")
        time.sleep(QUIET_SECONDS)
        seconds = scene.seconds_until_placed(change)
    own = "own plugins too" if has_own_plugins else "Berth alone"
    figures.at_most(f"{target.where}: {kind}, {own}", seconds, target.pod_seconds)


@pytest.mark.core
def test_pod_is_placed_after_another_pod_was_bound_and_immediately_ended(
    scene: Scene, target: Target, figures: Figures
) -> None:
    """Both happen between two publications: the cache has never shown the other pod on the node."""
    slowest, scene.scheduler = 0.0, FULL
    with target.scheduler(name=FULL):
        for number in range(ROUNDS):
            first = scene.create(f"first-{number}", cpu="3")
            scene.cluster.wait_until_assigned(first)
            scene.cluster.end_containers(first)
            scene.waiting = []
            slowest = max(slowest, scene.seconds_until_placed(partial(scene.wait, f"next-{number}", cpu="3")))
            scene.cluster.end_containers(scene.waiting[0])
    what = f"{target.where}: after a pod that was bound and deleted at once, slowest of {ROUNDS}"
    figures.at_most(what, slowest, target.pod_seconds)


def _gates_are_removed(scene: Scene) -> Callable[[], object]:
    """Prepare the removal of gates, two seconds apart; the last removal is the change."""
    gated = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    members = [scene.wait(f"k-{number}", annotations={GANG: "k", SIZE: "4"}, **gated) for number in range(4)]

    def remove(member: Pod) -> None:
        scene.api.patch(member.path, {"spec": {"schedulingGates": None}})

    def change() -> None:
        remove(members[-1])

    def before() -> None:
        for member in members[:-1]:
            remove(member)
            time.sleep(2.0)

    scene.prepare = before
    return change


def _differing_member(scene: Scene) -> Pod:
    for number in range(2):
        scene.wait(f"k-{number}", annotations={GANG: "k", SIZE: "2"})
    return scene.create("k-2", annotations={GANG: "k", SIZE: "3"})


def _differing_member_is_corrected(scene: Scene) -> Callable[[], object]:
    member = _differing_member(scene)
    return lambda: scene.patch(member, annotations={SIZE: "2"})


def _topology_key_is_removed(scene: Scene) -> Callable[[], object]:
    named = {GANG: "k", SIZE: "2", TOPOLOGY_KEY: "example.com/rack"}
    members = [scene.wait(f"k-{number}", annotations=named) for number in range(2)]

    def change() -> None:
        for member in members:
            scene.patch(member, annotations={TOPOLOGY_KEY: None})

    return change


GANG_KINDS: dict[str, Setup] = {
    "gates are removed 2 s apart": _gates_are_removed,
    "a member of another size is corrected": _differing_member_is_corrected,
    "a topology key is removed": _topology_key_is_removed,
}


@pytest.mark.parametrize("kind", GANG_KINDS)
def test_waiting_gang_is_placed_soon_after_a_change_that_helps_it(
    kind: str, scene: Scene, target: Target, tmp_path: Path, figures: Figures
) -> None:
    scene.scheduler = "default-scheduler"
    change = GANG_KINDS[kind](scene)
    with target.gang_scheduler(tmp_path):
        time.sleep(QUIET_SECONDS)
        scene.prepare()
        seconds = scene.seconds_until_placed(change)
    figures.at_most(f"{target.where}: gang, {kind}", seconds, target.gang_seconds)


def test_wake_up_object_does_not_wake_a_pod_whose_preemption_was_rejected(scene: Scene, target: Target) -> None:
    """In the pod's last attempt only NodeResourcesFit rejected it, which waits for the end of a pod. The last step
    shows the change that does wake the pod: the end of a nomination, which is a `patch` of pods/status."""
    high, higher = (scene.cluster.create_priority_class(name, value) for name, value in (("high", 10), ("higher", 20)))
    scene.create("victim", scene.node, cpu="3500m")
    neighbour = scene.create("neighbour", scene.node, labels={"team": "blue"}, priorityClassName=higher)
    pod = scene.wait(cpu="3500m", labels={"team": "blue"}, priorityClassName=high)
    with RecordingProxy(target.url_prefix) as proxy, target.scheduler(proxy.url_prefix):
        message = scene.cluster.wait_until_unschedulable(pod, "0/1 nodes are available: 1 Insufficient cpu.")
        assert message.endswith("preemption: no candidate node for preemption")
        before = proxy.count("preempt")
        scene.patch(neighbour, labels={"team": "green"})
        time.sleep(QUIET_SECONDS)
        scene.api.patch(WAKE_OBJECT, {"metadata": {"annotations": {"berth.dev/woken-at": "1"}}})
        scene.patch(pod, annotations={"a": "b"}, labels={"a": "b"})
        time.sleep(QUIET_SECONDS)
        assert proxy.count("preempt") == before
        for nominated in (scene.node, None):
            scene.api.patch(f"{pod.path}/status", {"status": {"nominatedNodeName": nominated}})
        scene.cluster.wait_until_nominated(pod)
