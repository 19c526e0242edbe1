"""A recording of a real kube-scheduler: every decision is the same when it is made again. The figures are printed."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from berth_cli.recording.format import DecisionLine, State, read_recording

from .berth.berth_serve import COMMAND
from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .gangs.scheduler import GangScheduler
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

NODES = 30
DECISIONS = 500

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
WAVES, WAVE = 8, 40
"""After each wave of pods a node comes and goes, another one changes, and the pods of an earlier wave end."""


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
    assert assert_same_again(recording, tmp_path / "berth.yaml") >= DECISIONS


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


def assert_same_again(recording: Path, policy: Path) -> int:
    """What `berth policy diff` says of the same policy twice. Returns the number of decisions."""
    policy.write_text(EVERYTHING)
    command = [str(COMMAND), "policy", "diff", str(policy), str(policy), f"--recording={recording}", "--output=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=REPLAY_SECONDS, check=False)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    lines = list(read_recording(recording))
    outcomes = Counter(f"{line.verb} {line.outcome}" for line in lines if isinstance(line, DecisionLine))
    states = sum(isinstance(line, State) for line in lines)
    print(f"repeated: {found['repeated']}, {found['judged']} pods, {states} states, {dict(outcomes)}; {done.stderr}")
    assert (done.returncode, found["repeated"]["differing"], found["pods"]) == (0, 0, [])
    assert "lacks the state" not in done.stderr
    decisions: int = found["repeated"]["decisions"]
    return decisions


def _without_node(api: KubernetesApi) -> int:
    found = api.get("/api/v1/namespaces/default/pods")["items"]
    return sum(not pod["spec"].get("nodeName") for pod in found)
