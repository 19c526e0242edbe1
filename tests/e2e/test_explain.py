"""The cause of a pending pod on a real kube-scheduler: `berth explain` reports it, and its exit status matches."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .berth.berth_serve import COMMAND
from .berth.identities import serve
from .berth.label_priority import NO_LABEL
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

SECONDS = 60
PENDING = 1


@pytest.mark.core
def test_explain_names_the_rule_and_a_change_that_places_the_pod(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with serve(control_plane, tmp_path) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        cluster.create_node("plain")
        pod = cluster.create_pod("pending")
        cluster.wait_until_unschedulable(pod, "0/")
        options = (f"--kubeconfig={control_plane.kubeconfig()}", f"--url={berth.url_prefix}")
        command = (COMMAND, "explain", f"{pod.namespace}/{pod.name}", *options)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == PENDING, output
    first = re.escape(f"{pod.namespace}/{pod.name}: pending for ") + "[0-9]+ s: 0 of 1 nodes fit: "
    assert re.fullmatch(first + re.escape(NO_LABEL) + " on .+", output.splitlines()[0]), output
    assert NO_LABEL in output
    assert "add the label priority.lixueduan.com=1 to node " in output
