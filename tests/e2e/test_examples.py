"""The manifests under examples/ run on a real API server and a real kube-scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .berth.label_priority import NO_LABEL, none_available, priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.manifests import apply_manifests, read_manifests
from .kubernetes.scheduler_configuration import filter_prioritize_bind

EXAMPLES = Path(__file__).parents[2] / "examples"
SECOND_SCHEDULER = EXAMPLES / "scheduler" / "second-scheduler.yaml"


NAMESPACE = "kube-system"


@pytest.fixture
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A separate cluster with only the manifests, so that no other Berth runs in it."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as control_plane:
        yield control_plane


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.fixture
def berth(control_plane: ControlPlane, tmp_path: Path) -> Iterator[BerthServe]:
    """Berth with only the documented rights."""
    with serve(control_plane, tmp_path) as berth:
        yield berth


def test_documented_rights_suffice_to_list_wake_and_bind(
    berth: BerthServe, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    node = cluster.create_node("node")
    run_scheduler(filter_prioritize_bind(berth.url_prefix))
    pod = cluster.create_pod("web")
    cluster.wait_for_failed_scheduling(pod, none_available({NO_LABEL: 1}))

    cluster.relabel(node, priority(10))

    assert cluster.wait_until_assigned(pod) == node


def test_second_scheduler_places_only_pods_that_name_it(
    berth: BerthServe, cluster: Cluster, control_plane: ControlPlane, api: KubernetesApi
) -> None:
    documents = read_manifests(SECOND_SCHEDULER)
    apply_manifests(api, documents)
    [config_map] = [document for document in documents if document["kind"] == "ConfigMap"]
    configuration: JsonObject = yaml.safe_load(config_map["data"]["config.yaml"])
    # The example has placeholders for address and client certificate; test_scheduler_config.py tests real ones.
    del configuration["extenders"][0]["tlsConfig"]
    configuration["extenders"][0]["urlPrefix"] = berth.url_prefix
    node = cluster.create_node("node", priority(10))
    ExtenderCache(berth).wait_for_scores({node: 10})

    with control_plane.scheduler(configuration, control_plane.service_account(NAMESPACE, "berth-scheduler")):
        other = cluster.create_pod("other")
        pod = cluster.create_pod("web", scheduler="berth-scheduler")

        assert cluster.wait_until_assigned(pod) == node
        assert cluster.state(other).node is None
