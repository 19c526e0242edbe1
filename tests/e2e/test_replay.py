"""A recording of a real kube-scheduler: every decision is the same when it is made again."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from berth_cli.recording.format import DecisionLine, read_recording
from berth_cli.recording.pods import pod_of_object

from .berth.berth_serve import COMMAND
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .berth.label_priority import priority
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind

NODES, PODS = 30, 1000
DECISIONS = 2000
"""filter and prioritize of each pod."""

BOUND_SECONDS = 600
REPLAY_SECONDS = 300


def test_decisions_of_a_real_scheduler_are_the_same_again(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    api, recording = KubernetesApi(control_plane.credentials()), tmp_path / "recording"
    with serve(control_plane, tmp_path, options=[f"--record={recording}"]) as berth:
        scores = {
            cluster.create_node(f"node-{index}", priority(index % 10), cpu="64"): index % 10 for index in range(NODES)
        }
        ExtenderCache(berth).wait_for_scores(scores)
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        for index in range(PODS):
            cluster.create_pod(f"pod-{index}", cpu="10m")
        until = time.monotonic() + BOUND_SECONDS
        while (left := _without_node(api)) > 0:
            assert time.monotonic() < until, f"{left} of {PODS} pods have no node"
            time.sleep(1)
    done = subprocess.run(
        [COMMAND, "replay", recording, "--output=json"],
        capture_output=True,
        text=True,
        timeout=REPLAY_SECONDS,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["differing"] == 0, found
    decided = {
        (pod_of_object(line.pod).name, line.verb)
        for line in read_recording(recording)
        if isinstance(line, DecisionLine)
    }
    # Others are of the pod that waits for the cache: the recording may begin after it.
    assert decided >= {(f"pod-{index}", verb) for index in range(PODS) for verb in ("filter", "prioritize")}
    assert found["decisions"] >= DECISIONS
    assert not found["truncated"]


def _without_node(api: KubernetesApi) -> int:
    found = api.get("/api/v1/namespaces/default/pods")["items"]
    return sum(not pod["spec"].get("nodeName") for pod in found)
