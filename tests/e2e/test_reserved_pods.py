"""KubernetesReservedPods on a real API server: after a touch, it rejects old versions and earlier Bindings."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_pods import KubernetesBinder, KubernetesReservedPods
from berth.pods import Binding, Created, FoundPod, PodChanged, PodNotFound, PodTouched, Refused
from berth.scheduling.objects.pod import PodKey

from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane


@pytest.fixture
def api(control_plane: ControlPlane) -> ApiServer:
    credentials = control_plane.credentials()
    configuration = Configuration()
    configuration.host = credentials.server
    configuration.ssl_ca_cert = str(credentials.ca_file)
    configuration.api_key = {"authorization": credentials.token}
    configuration.api_key_prefix = {"authorization": "Bearer"}
    return ApiServer(configuration, time.time)


def test_touch_invalidates_earlier_bindings_of_the_pod(api: ApiServer, cluster: Cluster) -> None:
    node = cluster.create_node("node")
    created = cluster.create_pod("touched", scheduler="absent")
    key = PodKey(created.namespace, created.name, created.uid)
    pods, binder = KubernetesReservedPods(api, time.time), KubernetesBinder(api)

    first = pods.find(key)
    assert isinstance(first, FoundPod)
    assert (first.uid, first.node, first.finished) == (created.uid, "", False)
    assert pods.touch(key, first.resource_version) == PodTouched()

    assert pods.touch(key, first.resource_version) == PodChanged()
    second = pods.find(key)
    assert isinstance(second, FoundPod)
    assert pods.touch(replace(key, uid="another"), second.resource_version) == PodChanged()
    earlier = Binding(key.namespace, key.name, key.uid, node, first.resource_version)
    rejection = binder.create_binding(earlier, 5)
    assert isinstance(rejection, Refused)
    assert rejection.status == 409

    assert binder.create_binding(replace(earlier, resource_version=second.resource_version), 5) == Created()
    bound = pods.find(key)
    assert isinstance(bound, FoundPod)
    assert bound.node == node


def test_touch_of_a_missing_pod_does_not_create_it(api: ApiServer) -> None:
    pods, key = KubernetesReservedPods(api, time.time), PodKey("default", "absent", "uid")
    assert pods.find(key) == PodNotFound()
    assert pods.touch(key, "1") == PodNotFound()
    assert pods.find(key) == PodNotFound()
