"""Resource segregation on a real scheduler with 9 nodes without and 6 nodes with GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .berth.label_priority import none_available
from .berth.recording_proxy import RecordingProxy
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import Mode, filter_prioritize_bind

GPU = "nvidia.com/gpu"
RESERVED = "node(s) were reserved for pods that ask for their resources"
INSUFFICIENT_CPU = "Insufficient cpu"

REQUIRED = (Path(__file__).parents[2] / "examples" / "resource-segregation" / "configuration.yaml").read_text()
PREFERRED = REQUIRED.replace("mode: required", "mode: preferred")


@pytest.fixture(scope="module")
def required(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BerthServe]:
    with serve(control_plane, tmp_path_factory.mktemp("required"), document=REQUIRED) as berth:
        yield berth


@pytest.fixture(scope="module")
def preferred(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BerthServe]:
    assert PREFERRED != REQUIRED
    with serve(control_plane, tmp_path_factory.mktemp("preferred"), document=PREFERRED) as berth:
        yield berth


@pytest.fixture
def cpu_nodes(cluster: Cluster) -> set[str]:
    return {cluster.create_node(f"cpu-{number}", cpu="2") for number in range(1, 10)}


@pytest.fixture
def gpu_nodes(cluster: Cluster) -> set[str]:
    """Larger nodes, which the scheduler alone would prefer."""
    return {cluster.create_node(f"gpu-{number}", cpu="16", extended={GPU: "2"}) for number in range(1, 7)}


@pytest.mark.parametrize("mode", list(Mode))
def test_places_pods_only_on_nodes_of_their_resources(
    mode: Mode,
    required: BerthServe,
    cluster: Cluster,
    cpu_nodes: set[str],
    gpu_nodes: set[str],
    run_scheduler: RunScheduler,
) -> None:
    _wait_until_cached(required, cpu_nodes, gpu_nodes)
    with RecordingProxy(required.url_prefix) as proxy:
        run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

        plain_pods = [cluster.create_pod(f"api-{number}") for number in range(12)]
        gpu_pods = [cluster.create_pod(f"trainer-{number}", extended={GPU: "1"}) for number in range(12)]

        assert {cluster.wait_until_assigned(pod) for pod in plain_pods} <= cpu_nodes
        assert {cluster.wait_until_assigned(pod) for pod in gpu_pods} == gpu_nodes
        # Berth decided it: the scheduler sent all nodes for a pod without GPUs.
        filtered = proxy.calls(plain_pods[0])[0]
        assert (filtered.verb, filtered.offered, filtered.passed) == ("filter", cpu_nodes | gpu_nodes, cpu_nodes)


def test_event_contains_reasons_of_berth_and_scheduler(
    required: BerthServe, cluster: Cluster, cpu_nodes: set[str], gpu_nodes: set[str], run_scheduler: RunScheduler
) -> None:
    _wait_until_cached(required, cpu_nodes, gpu_nodes)
    run_scheduler(filter_prioritize_bind(required.url_prefix))

    pod = cluster.create_pod("large", cpu="4")

    cluster.wait_for_failed_scheduling(pod, none_available({RESERVED: 6, INSUFFICIENT_CPU: 9}))
    assert cluster.state(pod).node is None


def test_places_exempt_pods_on_reserved_nodes(
    required: BerthServe, cluster: Cluster, cpu_nodes: set[str], gpu_nodes: set[str], run_scheduler: RunScheduler
) -> None:
    _wait_until_cached(required, cpu_nodes, gpu_nodes)
    run_scheduler(filter_prioritize_bind(required.url_prefix))

    # Too large for the nodes without GPUs.
    agents = [
        cluster.create_pod("log-agent", cpu="4", daemon_set="log-agent", daemon_set_node=min(gpu_nodes)),
        cluster.create_pod("dns", cpu="4", namespace="kube-system"),
        cluster.create_pod("critical", cpu="4", namespace="kube-system", priority_class="system-cluster-critical"),
    ]

    assert {cluster.wait_until_assigned(pod) for pod in agents} <= gpu_nodes


def _wait_until_cached(berth: BerthServe, cpu_nodes: set[str], gpu_nodes: set[str], *, reserved: bool = True) -> None:
    cache = ExtenderCache(berth)
    cache.wait_for_scores({**dict.fromkeys(cpu_nodes, 10), **dict.fromkeys(gpu_nodes, 0)})
    if reserved:
        cache.wait_for_reasons(dict.fromkeys(gpu_nodes, RESERVED))
