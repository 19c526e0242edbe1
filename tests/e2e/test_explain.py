"""Ten causes of a pending pod on a real kube-scheduler: `berth explain` names each of them within one command."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .berth.berth_serve import COMMAND, CONFIGURATION
from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.label_priority import NO_LABEL, none_available, priority
from .kubernetes.cluster import Cluster, Pod, Taint
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.loopback import HOST, free_port
from .kubernetes.scheduler_configuration import filter_prioritize_bind

SECONDS = 60
PENDING, UNREADABLE = 1, 2
# berth explain says of a pod that no scheduler has tried it when it is a minute old.
UNTRIED_SECONDS = 180

SLOT = "example.com/slot"
COUNTED = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources: [{{name: {SLOT}}}]
"""
GANGS = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: full
gangs: {enabled: true}
"""
# An idle cluster is published about once a minute.
STALE = f"{CONFIGURATION}nodeCache: {{maxStaleness: 0.001}}\n"

TAINT = Taint("dedicated", "NoSchedule")
NOT_TOLERATED = "node(s) had untolerated taint(s)"
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
SKEW = "node(s) didn't match pod topology spread constraints"
NO_CPU = "Insufficient cpu"
ZONE = "topology.kubernetes.io/zone"
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "spread"}},
}


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


def explain(control_plane: ControlPlane, pod: Pod, url_prefix: str, *options: str) -> tuple[int, str]:
    """Exit status and output, with the cluster and the records of the server."""
    done = subprocess.run(
        [
            COMMAND,
            "explain",
            f"{pod.namespace}/{pod.name}",
            f"--url={url_prefix}",
            f"--kubeconfig={control_plane.kubeconfig()}",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, PENDING, UNREADABLE), done.stderr
    return done.returncode, done.stdout + done.stderr


def create(api: KubernetesApi, name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Pod:
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "100m"}}}
    body = {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
    }
    created = api.create("/api/v1/namespaces/default/pods", body)
    return Pod("default", name, created["metadata"]["uid"])


def _unlabelled(cluster: Cluster, _: KubernetesApi) -> tuple[Sequence[str], Pod]:
    return [cluster.create_node("plain")], cluster.create_pod("pending")


def _tainted(cluster: Cluster, _: KubernetesApi) -> tuple[Sequence[str], Pod]:
    return [cluster.create_node("tainted", priority(1), taints=[TAINT])], cluster.create_pod("pending")


def _selecting(cluster: Cluster, api: KubernetesApi) -> tuple[Sequence[str], Pod]:
    return [cluster.create_node("hdd", priority(1))], create(api, "pending", nodeSelector={"disk": "ssd"})


def _exhausted(cluster: Cluster, _: KubernetesApi) -> tuple[Sequence[str], Pod]:
    node = cluster.create_node("small", priority(1), cpu="1")
    cluster.create_pod("holder", cpu="900m", node=node)
    return [node], cluster.create_pod("pending", cpu="500m")


def _spread(cluster: Cluster, api: KubernetesApi) -> tuple[Sequence[str], Pod]:
    full = cluster.create_node("full", {ZONE: "a", **priority(1)})
    # A zone without room: pods cannot be put there, and it counts all the same.
    closed = cluster.create_node("closed", {ZONE: "b", **priority(1)}, cpu="0")
    cluster.create_pod("other", node=full, labels={"app": "spread"})
    pod = create(api, "pending", {"app": "spread"}, topologySpreadConstraints=[SPREAD])
    return [full, closed], pod


CreatePending = Callable[[Cluster, KubernetesApi], tuple[Sequence[str], Pod]]


@pytest.mark.parametrize(
    ("pending", "reason", "change"),
    [
        pytest.param(_unlabelled, NO_LABEL, "add the label priority.lixueduan.com=1 to node ", id="unlabelled"),
        pytest.param(_tainted, NOT_TOLERATED, "remove the taint dedicated:NoSchedule from node ", id="taint"),
        pytest.param(_selecting, NO_MATCH, "add the label disk=ssd to node ", id="affinity"),
        pytest.param(_exhausted, NO_CPU, "end default/holder", id="exhausted nodes"),
        pytest.param(_spread, SKEW, "maxSkew", id="spread"),
    ],
)
def test_names_the_rule_and_a_change_that_places_the_pod(
    pending: CreatePending,
    reason: str,
    change: str,
    control_plane: ControlPlane,
    cluster: Cluster,
    api: KubernetesApi,
    run_scheduler: RunScheduler,
    tmp_path: Path,
) -> None:
    with serve(control_plane, tmp_path) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        _, pod = pending(cluster, api)
        cluster.wait_until_unschedulable(pod, "0/")
        status, output = explain(control_plane, pod, berth.url_prefix)
    assert status == PENDING, output
    assert output.startswith(f"default/{pod.name}: pending"), output
    assert reason in output
    assert change in output


def test_names_a_counted_resource_that_is_used_up(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with counted_resources(control_plane), serve(control_plane, tmp_path, document=COUNTED) as berth:
        scheduler = replace(filter_prioritize_bind(berth.url_prefix), managed_resources=[SLOT])
        run_scheduler(scheduler)
        node = cluster.create_node("slots", extended={SLOT: "1"})
        cluster.create_pod("holder", extended={SLOT: "1"}, node=node)
        ExtenderCache(berth).wait_for_feasible([node])
        pod = cluster.create_pod("pending", extended={SLOT: "1"})
        cluster.wait_until_unschedulable(pod, none_available({f"Insufficient {SLOT}": 1}))
        status, output = explain(control_plane, pod, berth.url_prefix)
    assert status == PENDING, output
    assert f"Berth ManagedResources  Insufficient {SLOT}" in output
    assert f"free 1 {SLOT} on node {node}: end default/holder" in output


def test_names_a_gang_whose_members_are_missing(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with serve(control_plane, tmp_path, document=GANGS) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        node = cluster.create_node("node")
        ExtenderCache(berth).wait_for_feasible([node])
        annotations = {"berth.dev/gang": "train", "berth.dev/gang-size": "3"}
        pods = [cluster.create_pod(f"train-{number}", annotations=annotations) for number in range(2)]
        cluster.wait_until_unschedulable(pods[0], none_available({"gang waits for members": 1}))
        _, alone = explain(control_plane, pods[0], berth.url_prefix)
        status, output = explain(control_plane, pods[0], berth.url_prefix, "--gang")
    assert "gang waits for members" in alone
    assert status == PENDING, output
    assert output.startswith("gang default/train: pending: 2 members wait for a node, 3 are needed"), output


def test_names_a_stale_cache(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with serve(control_plane, tmp_path, document=STALE, is_healthy=False) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        cluster.create_node("node", priority(1))
        pod = cluster.create_pod("pending")
        cluster.wait_for_failed_scheduling(pod, "")
        _, output = explain(control_plane, pod, berth.url_prefix)
    assert "failure-cache-unavailable" in output
    assert "older than maxStaleness" in output


def test_names_a_server_that_is_down(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    url_prefix = f"http://{HOST}:{free_port()}/scheduler"
    run_scheduler(filter_prioritize_bind(url_prefix))
    cluster.create_node("node", priority(1))
    pod = cluster.create_pod("pending")
    cluster.wait_for_failed_scheduling(pod, f'Post "{url_prefix}/filter"')
    status, output = explain(control_plane, pod, url_prefix)
    assert status == UNREADABLE
    assert f"{url_prefix}: connection refused or blocked; is berth serve running there?" in output


def test_names_a_scheduler_that_does_not_exist(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    with serve(control_plane, tmp_path) as berth:
        run_scheduler(filter_prioritize_bind(berth.url_prefix))
        cluster.create_node("node", priority(1))
        pod = cluster.create_pod("pending", scheduler="default-schedulr")
        until = time.monotonic() + UNTRIED_SECONDS
        untried = "no scheduler named default-schedulr has tried it"
        while untried not in (found := explain(control_plane, pod, berth.url_prefix))[1]:
            assert time.monotonic() < until, found
            time.sleep(1)
        status, output = found
    assert status == PENDING
    assert "did you mean default-scheduler? A pod's schedulerName cannot be changed: create the pod again" in output
