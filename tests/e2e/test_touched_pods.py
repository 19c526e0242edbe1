"""A real API server refuses a touch on an old version, and every Binding from before a touch."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from kubernetes.client import Configuration

from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_binder import KubernetesBinder
from berth.cluster.kubernetes_reserved_pods import KubernetesReservedPods
from berth.extender.ports import Binding, Created, Refused
from berth.reservations.ledger.entry import PodKey
from berth.reservations.reconciler.reserved_pods import Changed, Found, NotFound, Touched

from .cluster import Cluster
from .control_plane import ControlPlane


@pytest.fixture
def api(control_plane: ControlPlane) -> ApiServer:
    credentials = control_plane.credentials()
    configuration = Configuration()
    configuration.host = credentials.server
    configuration.ssl_ca_cert = str(credentials.ca_file)
    configuration.api_key = {"authorization": credentials.token}
    configuration.api_key_prefix = {"authorization": "Bearer"}
    return ApiServer(configuration, time.time)


def test_a_touch_makes_every_binding_of_before_fail(api: ApiServer, cluster: Cluster) -> None:
    node = cluster.create_node("node")
    created = cluster.create_pod("touched", scheduler="nobody")
    key = PodKey(created.namespace, created.name, created.uid)
    pods, binder = KubernetesReservedPods(api, time.time), KubernetesBinder(api)

    seen = pods.find(key)
    assert isinstance(seen, Found)
    assert (seen.uid, seen.node, seen.finished) == (created.uid, "", False)
    assert pods.touch(key, seen.resource_version) == Touched()

    assert pods.touch(key, seen.resource_version) == Changed()
    now = pods.find(key)
    assert isinstance(now, Found)
    assert pods.touch(replace(key, uid="another"), now.resource_version) == Changed()
    late = Binding(key.namespace, key.name, key.uid, node, seen.resource_version)
    refused = binder.create_binding(late, 5)
    assert isinstance(refused, Refused)
    assert refused.status == 409

    assert binder.create_binding(replace(late, resource_version=now.resource_version), 5) == Created()
    bound = pods.find(key)
    assert isinstance(bound, Found)
    assert bound.node == node


def test_nothing_is_created_where_there_is_no_pod(api: ApiServer) -> None:
    pods, key = KubernetesReservedPods(api, time.time), PodKey("default", "nobody", "uid")
    assert pods.find(key) == NotFound()
    assert pods.touch(key, "1") == NotFound()
    assert pods.find(key) == NotFound()
