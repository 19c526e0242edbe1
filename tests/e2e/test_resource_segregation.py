"""9 nodes without a GPU and 6 with: where a real scheduler puts pods when Berth keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .berth_serve import BerthServe
from .cluster import Cluster
from .control_plane import ControlPlane, RunScheduler
from .extender import ExtenderCache
from .identities import serve
from .label_priority import none_available
from .recording_proxy import RecordingProxy
from .scheduler_configuration import Mode, filter_prioritize_bind

GPU = "nvidia.com/gpu"
RESERVED = "node(s) were reserved for pods that ask for their resources"
INSUFFICIENT_CPU = "Insufficient cpu"

REQUIRED = (Path(__file__).parents[2] / "examples" / "resource-segregation" / "configuration.yaml").read_text()
PREFERRED = REQUIRED.replace("mode: required", "mode: preferred")

# The whole range of Berth's scores is then worth more than all of the scheduler's own together.
DECISIVE = 13


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
def without(cluster: Cluster) -> set[str]:
    return {cluster.create_node(f"cpu-{number}", cpu="2") for number in range(1, 10)}


@pytest.fixture
def with_gpus(cluster: Cluster) -> set[str]:
    """Larger ones: alone, the scheduler would put pods here first."""
    return {cluster.create_node(f"gpu-{number}", cpu="16", extended={GPU: "2"}) for number in range(1, 7)}


@pytest.mark.parametrize("mode", list(Mode))
def test_places_pods_only_on_nodes_of_their_resources(
    mode: Mode,
    required: BerthServe,
    cluster: Cluster,
    without: set[str],
    with_gpus: set[str],
    run_scheduler: RunScheduler,
) -> None:
    _wait_until_known(required, without, with_gpus)
    with RecordingProxy(required.url_prefix) as proxy:
        run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

        plain = [cluster.create_pod(f"api-{number}") for number in range(12)]
        asking = [cluster.create_pod(f"trainer-{number}", extended={GPU: "1"}) for number in range(12)]

        assert {cluster.wait_until_assigned(pod) for pod in plain} <= without
        assert {cluster.wait_until_assigned(pod) for pod in asking} == with_gpus
        # Not by the scheduler's doing: it offered all nodes for a pod that asks for no GPU.
        filtered = proxy.calls(plain[0])[0]
        assert (filtered.verb, filtered.offered, filtered.passed) == ("filter", without | with_gpus, without)


def test_event_contains_reasons_of_berth_and_scheduler(
    required: BerthServe, cluster: Cluster, without: set[str], with_gpus: set[str], run_scheduler: RunScheduler
) -> None:
    _wait_until_known(required, without, with_gpus)
    run_scheduler(filter_prioritize_bind(required.url_prefix))

    pod = cluster.create_pod("large", cpu="4")

    cluster.wait_for_failed_scheduling(pod, none_available({RESERVED: 6, INSUFFICIENT_CPU: 9}))
    assert cluster.state(pod).node is None


def test_places_exempt_pods_on_reserved_nodes(
    required: BerthServe, cluster: Cluster, without: set[str], with_gpus: set[str], run_scheduler: RunScheduler
) -> None:
    _wait_until_known(required, without, with_gpus)
    run_scheduler(filter_prioritize_bind(required.url_prefix))

    # Too large for the others.
    agents = [
        cluster.create_pod("log-agent", cpu="4", daemon_set="log-agent"),
        cluster.create_pod("dns", cpu="4", namespace="kube-system"),
        cluster.create_pod("critical", cpu="4", namespace="kube-system", priority_class="system-cluster-critical"),
    ]

    assert {cluster.wait_until_assigned(pod) for pod in agents} <= with_gpus


def test_preferred_mode_uses_reserved_nodes_last(
    preferred: BerthServe, cluster: Cluster, without: set[str], with_gpus: set[str], run_scheduler: RunScheduler
) -> None:
    _wait_until_known(preferred, without, with_gpus, reserved=False)
    run_scheduler(filter_prioritize_bind(preferred.url_prefix, weight=DECISIVE))

    fitting = [cluster.create_pod(f"api-{number}", cpu="1900m") for number in range(9)]
    assert {cluster.wait_until_assigned(pod) for pod in fitting} == without

    overflowing = cluster.create_pod("one-more", cpu="1900m")
    assert cluster.wait_until_assigned(overflowing) in with_gpus


def _wait_until_known(berth: BerthServe, without: set[str], with_gpus: set[str], *, reserved: bool = True) -> None:
    cache = ExtenderCache(berth)
    cache.wait_for_scores({**dict.fromkeys(without, 10), **dict.fromkeys(with_gpus, 0)})
    if reserved:
        cache.wait_for_reasons(dict.fromkeys(with_gpus, RESERVED))
