"""Exempt pods, such as the cluster's agents, run on nodes that Berth rejects for other pods."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from .berth.extender import ExtenderCache
from .berth.label_priority import NO_LABEL
from .berth.recording_proxy import RecordingProxy
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import RunScheduler
from .kubernetes.scheduler_configuration import Mode, filter_prioritize_bind


@dataclass(frozen=True, kw_only=True)
class Agent:
    namespace: str = "default"
    daemon_set: str | None = None
    priority_class: str | None = None


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(Agent(daemon_set="node-exporter"), id="DaemonSet"),
        pytest.param(Agent(priority_class="system-cluster-critical"), id="system-cluster-critical"),
        pytest.param(Agent(namespace="kube-system"), id="namespace kube-system"),
    ],
)
def test_places_exempt_pod_on_unlabelled_node(
    agent: Agent,
    mode: Mode,
    cluster: Cluster,
    cache: ExtenderCache,
    proxy: RecordingProxy,
    run_scheduler: RunScheduler,
) -> None:
    nodes = {cluster.create_node(name) for name in ("a", "b")}
    cache.wait_for_reasons(dict.fromkeys(nodes, NO_LABEL))
    run_scheduler(filter_prioritize_bind(proxy.url_prefix, mode=mode))

    pod = cluster.create_pod(
        "agent",
        namespace=agent.namespace,
        daemon_set=agent.daemon_set,
        daemon_set_node=min(nodes),
        priority_class=agent.priority_class,
    )

    # A DaemonSet's pod names its node; the scheduler asks about no other.
    possible = {min(nodes)} if agent.daemon_set else nodes
    assert cluster.wait_until_assigned(pod) in possible
    assert proxy.calls(pod)[0].passed == possible
