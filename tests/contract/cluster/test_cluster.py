"""Contract of the port Cluster, on the dump and on the Kubernetes API. The tests use only the port."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from berth.cluster.api_server.client import ApiServer
from berth.cluster.dump_cluster import DumpCluster
from berth.cluster.field_projection import RequiredFields
from berth.cluster.kubernetes_cluster import KubernetesCluster
from berth.cluster.watch.resources import BASE_RESOURCES, NODES, PODS
from berth.nodecache.feed.cluster import Added, ClusterUnavailable, ClusterWatch, Deleted, Listed, Modified
from berth.nodecache.feed.leader import ObservedState
from tests.builders.nodes import node_object
from tests.builders.pods import pod_object
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, Exchange, driven_api_server
from tests.unit.cluster.taking import at_once

ALLOCATABLE = {"cpu": "8", "memory": "32Gi"}
NODE = node_object("n1")
NODE["status"] = {"allocatable": ALLOCATABLE, "conditions": [{"type": "Ready", "status": "True"}]}


class DumpSetting:
    """A cluster that contains only the node n1, and the events that a test can cause."""

    def __init__(self, path: Path, clock: HandDrivenClock) -> None:
        self.clock = clock
        self._path = path
        self._items = [{"kind": "Node", **NODE}]
        self._write()
        self.cluster = DumpCluster(path, clock)

    def uid(self) -> str:
        return self.cluster.uid()

    def watched(self) -> ClusterWatch:
        return self.cluster.watch({})

    def bring_a_pod(self) -> None:
        self._items.append({"kind": "Pod", **pod_object("p", "ml")})
        self._write()

    def vanish(self) -> None:
        self._path.unlink()

    def _write(self) -> None:
        modified = self._path.stat().st_mtime_ns + 1_000 if self._path.exists() else 1_000
        self._path.write_bytes(orjson.dumps({"kind": "List", "items": self._items}))
        os.utime(self._path, ns=(modified, modified))


class KubernetesSetting:
    def __init__(self, server: DrivenApiServer, clock: HandDrivenClock) -> None:
        self.clock = clock
        self._server = server
        self._streams: dict[str, Exchange] = {}
        self.cluster = KubernetesCluster(ApiServer(server.configuration(), clock), RequiredFields(), clock, at_once)

    def uid(self) -> str:
        with ThreadPoolExecutor(1) as thread:
            uid = thread.submit(self.cluster.uid)
            self._server.next("/api/v1/namespaces/kube-system").answer(200, {"metadata": {"uid": "u-1"}})
            return uid.result()

    def watched(self) -> ClusterWatch:
        watch = self.cluster.watch({})
        for resource in BASE_RESOURCES:
            found = [NODE] if resource is NODES else []
            self._server.next(resource.path).page(*found, version="5")
        for resource in BASE_RESOURCES:
            self._streams[resource.name] = self._server.next(resource.path).stream()
        return watch

    def bring_a_pod(self) -> None:
        pod = pod_object("p", "ml")
        pod["metadata"]["resourceVersion"] = "6"  # type: ignore[index]
        self._streams[PODS.name].tell("ADDED", pod)
        for resource in BASE_RESOURCES:
            if resource is not PODS:
                self._streams[resource.name].tell("BOOKMARK", {"metadata": {"resourceVersion": "6"}})

    def vanish(self) -> None:
        self._server.stop()


Setting = DumpSetting | KubernetesSetting


@pytest.fixture
def clock() -> HandDrivenClock:
    return HandDrivenClock()


@pytest.fixture(params=["dump", "Kubernetes API"])
def setting(request: pytest.FixtureRequest, tmp_path: Path, clock: HandDrivenClock) -> Iterator[Setting]:
    if request.param == "dump":
        yield DumpSetting(tmp_path / "cluster.json", clock)
        return
    with driven_api_server() as server:
        yield KubernetesSetting(server, clock)


@pytest.fixture
def watch(setting: Setting) -> Iterator[ClusterWatch]:
    watch = setting.watched()
    yield watch
    watch.stop()


def follow(watch: ClusterWatch, state: ObservedState, until: Callable[[], bool]) -> None:
    """Apply events to the state, as a leader does, until the condition holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not until():
        assert time.monotonic() < deadline, "it did not come"
        for received in watch.take(1.0):
            match received.event:
                case Listed(objects=objects):
                    state.relist(received.resource, objects)
                case Added(object=kept) | Modified(object=kept):
                    state.put(received.resource, kept)
                case Deleted(object=kept):
                    state.remove(received.resource, kept)


def test_uid_of_cluster_is_constant(setting: Setting) -> None:
    assert setting.uid() == setting.uid() != ""


def test_data_has_an_age_only_after_every_resource_was_listed(
    watch: ClusterWatch, setting: Setting, clock: HandDrivenClock
) -> None:
    state = ObservedState({})
    assert watch.observed_at is None
    follow(watch, state, lambda: watch.observed_at is not None)
    assert state.objects.keys() == {("nodes", "n1")}
    assert watch.positions.keys() >= {resource.name for resource in BASE_RESOURCES}
    assert {(position.observed_at, position.listed_at) for position in watch.positions.values()} == {(clock(), clock())}


def test_reports_change_and_advances_observed_at(watch: ClusterWatch, setting: Setting, clock: HandDrivenClock) -> None:
    state = ObservedState({})
    follow(watch, state, lambda: watch.observed_at is not None)
    before = watch.positions["pods"]
    clock.advance(10)
    setting.bring_a_pod()
    follow(watch, state, lambda: ("pods", "ml/p") in state.objects and watch.observed_at == clock())
    after = watch.positions["pods"]
    assert after.resource_version != before.resource_version
    assert after.observed_at == before.observed_at + 10


def test_reports_only_the_projected_fields_of_objects(watch: ClusterWatch, setting: Setting) -> None:
    state = ObservedState({})
    follow(watch, state, lambda: watch.observed_at is not None)
    assert state.objects["nodes", "n1"] == {
        "metadata": {"name": "n1", "labels": {}},
        "status": {"allocatable": ALLOCATABLE, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def test_wait_without_a_change_returns_an_empty_result(watch: ClusterWatch, setting: Setting) -> None:
    follow(watch, ObservedState({}), lambda: watch.observed_at is not None)
    assert watch.take(0.0) == []


def test_raises_cluster_unavailable_if_the_cluster_disappears(setting: Setting) -> None:
    setting.vanish()
    with pytest.raises(ClusterUnavailable):
        setting.cluster.uid()


def test_observed_at_does_not_advance_while_the_cluster_is_unavailable(watch: ClusterWatch, setting: Setting) -> None:
    follow(watch, ObservedState({}), lambda: watch.observed_at is not None)
    before = watch.observed_at
    setting.clock.advance(10)
    setting.vanish()
    taken = watch.take(PATIENCE_SECONDS)
    assert taken
    assert watch.observed_at == before
