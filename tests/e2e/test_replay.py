"""Recordings of a real kube-scheduler: every decision is the same when it is made again. The figures are printed."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from berth_cli.recording.format import DecisionLine, State, read_recording
from berth_cli.recording.pods import pod_of_object

from .berth.berth_serve import COMMAND
from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.label_priority import priority
from .gangs.scheduler import GangScheduler
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind

NODES, PODS = 30, 1000
DECISIONS = 2000
"""filter and prioritize of each pod."""

BOUND_SECONDS = 600
REPLAY_SECONDS = 300

SLOT, SLOTS = "example.com/slot", 16
ZONE = "topology.kubernetes.io/zone"
EVERYTHING = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: everything
definitions: {{everything: {{extends: full, plugins: {{enabled: [{{name: ManagedResources}}]}}}}}}
managedResources: [{{name: {SLOT}}}]
gangs: {{enabled: true}}
"""
GANG = 4
WAVES, WAVE = 25, 40
"""After each wave of pods a node comes and goes, another one changes, and the pods of an earlier wave end."""


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
    found = assert_same_again(recording)
    decided = {
        (pod_of_object(line.pod).name, line.verb)
        for line in read_recording(recording)
        if isinstance(line, DecisionLine)
    }
    # Others are of the pod that waits for the cache: the recording may begin after it.
    assert decided >= {(f"pod-{index}", verb) for index in range(PODS) for verb in ("filter", "prioritize")}
    assert found["decisions"] >= DECISIONS


def test_decisions_by_every_kind_of_rule_in_a_changing_cluster_are_the_same_again(
    control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> None:
    """kube-scheduler's own plugins with spreading and affinity, priorities, counted resources that Berth binds, and
    gangs. Meanwhile nodes come, change and go, and the API server ends once: all watches break."""
    world = ChangingCluster(cluster, KubernetesApi(control_plane.credentials()))
    recording = tmp_path / "recording"
    with (
        counted_resources(control_plane),
        serve(control_plane, tmp_path, document=EVERYTHING, options=[f"--record={recording}"]) as berth,
    ):
        for _ in range(NODES):
            world.add_node()
        ExtenderCache(berth).wait_for_feasible(world.nodes)
        berth.wait_for_ledger(*world.nodes)
        with GangScheduler(control_plane, tmp_path).run(berth.url_prefix, EVERYTHING):
            for wave in range(WAVES):
                world.create_wave(wave)
                world.wait_until_bound()
                world.change()
                if wave == WAVES // 2:
                    control_plane.kill("kube-apiserver")
                    control_plane.start_again("kube-apiserver")
    found = assert_same_again(recording)
    assert found["decisions"] >= DECISIONS


@dataclass
class ChangingCluster:
    """Pods of every kind on nodes that come and go."""

    cluster: Cluster
    api: KubernetesApi
    nodes: deque[str] = field(default_factory=deque)
    _waves: deque[list[Pod]] = field(default_factory=deque)
    _numbers: Iterator[int] = field(default_factory=count)

    def add_node(self) -> None:
        """In one of three zones."""
        number = next(self._numbers)
        labels = {ZONE: "abc"[number % 3]}
        self.nodes.append(self.cluster.create_node(f"node-{number}", labels, cpu="16", extended={SLOT: str(SLOTS)}))

    def create_wave(self, wave: int) -> None:
        """A quarter each: spread over the zones, apart from each other, counted, and in gangs."""
        pods = []
        for number in range(WAVE):
            name = f"{wave}-{number}"
            match number % 4:
                case 0:
                    pods.append(self._spread(f"spread-{name}", wave))
                case 1:
                    labels = {"apart": str(wave)}
                    pods.append(self.cluster.create_pod(f"apart-{name}", labels=labels, apart_from=labels))
                case 2:
                    pods.append(self.cluster.create_pod(f"slot-{name}", extended={SLOT: "1"}))
                case _:
                    gang = f"gang-{wave}-{number // (4 * GANG)}"
                    size = min(GANG, WAVE // 4 - GANG * (number // (4 * GANG)))
                    annotations = {"berth.dev/gang": gang, "berth.dev/gang-size": str(size)}
                    pods.append(self.cluster.create_pod(f"member-{name}", annotations=annotations))
        self._waves.append(pods)

    def wait_until_bound(self) -> None:
        """All pods of the last wave."""
        until = time.monotonic() + BOUND_SECONDS
        while (left := _without_node(self.api)) > 0:
            assert time.monotonic() < until, f"{left} of {WAVE} pods have no node"
            time.sleep(0.2)

    def change(self) -> None:
        """A node comes, the oldest one goes, another one changes, and the pods of an earlier wave end."""
        self.add_node()
        self.cluster.delete_node(self.nodes.popleft())
        self.cluster.relabel(self.nodes[0], {ZONE: "abc"[next(self._numbers) % 3]})
        if len(self._waves) > 2:
            for pod in self._waves.popleft():
                self.cluster.end_containers(pod)

    def _spread(self, name: str, wave: int) -> Pod:
        labels = {"spread": str(wave)}
        constraint = {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
        }
        container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m"}}}
        spec = {
            "schedulerName": "default-scheduler",
            "containers": [container],
            "topologySpreadConstraints": [constraint],
        }
        body = {"metadata": {"name": name, "labels": labels}, "spec": spec}
        created = self.api.create("/api/v1/namespaces/default/pods", body)
        return Pod("default", name, created["metadata"]["uid"])


def assert_same_again(recording: Path) -> dict[str, Any]:
    """What `berth replay` says of a complete recording in which nothing differs."""
    command = [str(COMMAND), "replay", str(recording), "--output=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=REPLAY_SECONDS, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    lines = list(read_recording(recording))
    outcomes = Counter(f"{line.verb} {line.outcome}" for line in lines if isinstance(line, DecisionLine))
    figures = {name: found[name] for name in ("decisions", "pods", "later", "differing", "dropped", "withoutState")}
    print(f"replayed: {figures}, {sum(isinstance(line, State) for line in lines)} states, {dict(outcomes)}")
    assert found["differing"] == 0, found
    assert (found["truncated"], found["withoutState"]) == (False, 0)
    return found


def _without_node(api: KubernetesApi) -> int:
    found = api.get("/api/v1/namespaces/default/pods")["items"]
    return sum(not pod["spec"].get("nodeName") for pod in found)
