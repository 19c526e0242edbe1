"""Causes of a pending pod on a real kube-scheduler: `berth explain` names each of them within one command, in its first
lines and by its exit status."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from .berth.berth_serve import COMMAND
from .berth.identities import serve
from .berth.label_priority import NO_LABEL
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

SECONDS = 60
_AGE = re.compile(r"[0-9]+ (s|min)\b")
PENDING, UNREADABLE = 1, 2


def explain(control_plane: ControlPlane, pod: Pod, url_prefix: str) -> tuple[int, str]:
    """Exit status and output, with the cluster and the records of the server."""
    options = (f"--kubeconfig={control_plane.kubeconfig()}", f"--url={url_prefix}")
    command = (COMMAND, "explain", f"{pod.namespace}/{pod.name}", *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode in (0, PENDING, UNREADABLE), done.stderr
    return done.returncode, done.stdout + done.stderr


def first_line(output: str) -> str:
    return without_times(output.splitlines()[0])


def without_times(line: str) -> str:
    return _AGE.sub(r"N \1", line)


def pending_for(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}: pending for N s"


@pytest.mark.core
def test_explain_names_the_rule_and_a_change_that_places_the_pod(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with serve(control_plane, tmp_path) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        cluster.create_node("plain")
        pod = cluster.create_pod("pending")
        cluster.wait_until_unschedulable(pod, "0/")
        status, output = explain(control_plane, pod, berth.url_prefix)
    assert (status, first_line(output)) == (PENDING, f"{pending_for(pod)}: 0 of 1 nodes fit"), output
    assert NO_LABEL in output
    assert "add the label priority.lixueduan.com=1 to node " in output
