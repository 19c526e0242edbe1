"""Scheduling while Berth is down, with and without `ignorable`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from .berth.identities import serve
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.loopback import HOST, free_port
from .kubernetes.scheduler_configuration import Mode, filter_onlyone_bind, filter_prioritize_bind

both_modes = pytest.mark.parametrize("mode", list(Mode))


@both_modes
def test_pod_is_placed_while_an_ignorable_extender_is_unavailable(
    mode: Mode, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    node = cluster.create_node("unlabelled")
    url_prefix = f"http://{HOST}:{free_port()}/scheduler"
    run_scheduler(replace(filter_prioritize_bind(url_prefix, mode=mode), ignorable=True))

    pod = cluster.create_pod("web")

    assert cluster.wait_until_assigned(pod) == node


@both_modes
def test_pod_waits_while_a_required_extender_is_unavailable(
    mode: Mode, cluster: Cluster, control_plane: ControlPlane, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    node = cluster.create_node("node", priority(10))
    berth = serve(control_plane, tmp_path)
    run_scheduler(filter_onlyone_bind(berth.url_prefix, mode=mode))

    pod = cluster.create_pod("web")

    cluster.wait_for_failed_scheduling(pod, f'Post "{berth.url_prefix}/filter_onlyone": dial tcp')
    assert cluster.state(pod).node is None
    with berth:
        assert cluster.wait_until_assigned(pod) == node
