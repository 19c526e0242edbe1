"""Pods that come at once under soft rules about other pods, which Berth alone scores: kube-scheduler's own scores are
switched off.

kube-scheduler by itself places each pod with all pods before it, so that no zone has more pods than another.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import identities
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind, scheduler_configuration

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ZONES, NODES, PODS = 3, 12, 30
PLACED_SECONDS = 60

SCORES_ALONE = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: spread
definitions:
  spread:
    plugins:
      enabled:
        - name: PodTopologySpread
    scores: extender
"""
FULL = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: full
"""
OWN_SCORES_OFF = {"score": {"disabled": [{"name": "*"}]}, "preScore": {"disabled": [{"name": "*"}]}}


@pytest.mark.core
@pytest.mark.parametrize("document", [pytest.param(SCORES_ALONE, id="one score"), pytest.param(FULL, id="full")])
def test_burst_spreads_over_zones_as_one_pod_after_the_other(
    document: str, control_plane: ControlPlane, cluster: Cluster, tmp_path: Path
) -> None:
    found = identities(control_plane)
    watcher, binder = control_plane.kubeconfig(found.watcher), control_plane.kubeconfig(found.binder)
    api = KubernetesApi(control_plane.credentials())
    with BerthServe(watcher, tmp_path, binder=binder, document=document) as berth:
        zones = [f"zone-{number % ZONES}" for number in range(NODES)]
        nodes = {cluster.create_node(f"spread-{number}", {ZONE: zone}): zone for number, zone in enumerate(zones)}
        ExtenderCache(berth).wait_for_feasible(list(nodes))
        configuration = {
            **scheduler_configuration([filter_prioritize_bind(berth.url_prefix)]),
            "profiles": [{"schedulerName": "default-scheduler", "plugins": OWN_SCORES_OFF}],
        }
        with control_plane.scheduler(configuration):
            for number in range(PODS):
                api.create("/api/v1/namespaces/default/pods", _pod(f"spread-{number}"))
            placed = _placed(api)
    assert set(Counter(nodes[node] for node in placed).values()) == {PODS // ZONES}


def _pod(name: str) -> JsonObject:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    return {
        "metadata": {"name": name, "labels": {"app": "spread"}},
        "spec": {
            "containers": [{"name": "app", "image": "app"}],
            "topologySpreadConstraints": [constraint],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _placed(api: KubernetesApi) -> list[str]:
    """The nodes of all pods, once each has one."""
    until = time.monotonic() + PLACED_SECONDS
    while True:
        pods = api.get("/api/v1/namespaces/default/pods")["items"]
        found = [str(pod["spec"]["nodeName"]) for pod in pods if pod["spec"].get("nodeName")]
        if len(found) == PODS:
            return found
        assert time.monotonic() < until, f"{PODS - len(found)} of {PODS} pods wait"
        time.sleep(0.2)
