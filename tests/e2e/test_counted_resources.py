"""200 pods at once request 160 units of a resource that the scheduler ignores and only Berth counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from .berth.extender import PROBE, SERVE_AND_STACK, ExtenderCache
from .berth.label_priority import none_available
from .berth.with_ledger import WithLedger, counting
from .gangs.members import wait_until
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind

RESOURCE = "example.com/slot"
INSUFFICIENT = f"Insufficient {RESOURCE}"
NODES = 20
UNITS = 8
PODS = 200
DELETED = 10
POD_SPEC = {"containers": [{"name": "app", "resources": {"requests": {RESOURCE: "1"}}}]}

CONFIGURATION = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {RESOURCE}
"""

# The watcher creates the ledgers of a new table after earlier binds have ended and the API server has sent a later
# resource version of pods. An idle API server sends one a minute.
NODE_LEDGER_SECONDS = 180
BURST_SECONDS = 120
STABLE_SECONDS = 5
REPLACEMENT_SECONDS = 15
LEDGER_SECONDS = 10


@pytest.fixture(scope="module", params=SERVE_AND_STACK)
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WithLedger]:
    with counting(request.param, control_plane, tmp_path_factory.mktemp(request.param), CONFIGURATION) as berth:
        yield berth


@pytest.mark.core
def test_burst_fills_every_node_without_overcommit(
    berth: WithLedger, cluster: Cluster, api: KubernetesApi, run_scheduler: RunScheduler
) -> None:
    nodes = [
        cluster.create_node(f"slots-{number}", cpu="64", extended={RESOURCE: str(UNITS)}) for number in range(NODES)
    ]
    ExtenderCache(berth).wait_for_feasible(nodes, of={**PROBE, "spec": POD_SPEC})
    wait_until("the nodes have a ledger", lambda: set(nodes) <= set(berth.ledger()), NODE_LEDGER_SECONDS)
    run_scheduler(replace(filter_prioritize_bind(berth.url_prefix), preempt_verb=None, managed_resources=(RESOURCE,)))

    started = time.monotonic()
    pods = [cluster.create_pod(f"burst-{number}", cpu="1m", extended={RESOURCE: "1"}) for number in range(PODS)]
    wait_until("160 pods are bound", lambda: sum(_pods_per_node(api).values()) == NODES * UNITS, BURST_SECONDS)
    print(
        f"{NODES * UNITS} of {PODS} pods were bound {time.monotonic() - started:.1f} s after the creation of the first"
    )

    # Each node stays full and is not overcommitted.
    until = time.monotonic() + STABLE_SECONDS
    while time.monotonic() < until:
        assert _pods_per_node(api) == dict.fromkeys(nodes, UNITS)
        time.sleep(0.5)
    running = _running(api)
    waiting = [pod for pod in pods if pod.name not in running]
    assert len(waiting) == PODS - NODES * UNITS
    for pod in waiting:
        cluster.wait_until_unschedulable(pod, none_available({INSUFFICIENT: NODES}))
    wait_until(
        "the ledger has confirmed the pods",
        lambda: _ledger_entries(berth, nodes) == _bound_pods(api, nodes),
        LEDGER_SECONDS,
    )

    deleted = [pod for pod in pods if pod.name in running][:DELETED]
    deleted_at = time.monotonic()
    for pod in deleted:
        cluster.end_containers(pod)
    wait_until(
        "as many other pods are bound",
        lambda: sum(_pods_per_node(api).values()) == NODES * UNITS and not _names(deleted) & _running(api),
        REPLACEMENT_SECONDS,
    )
    print(f"{DELETED} other pods were bound {time.monotonic() - deleted_at:.1f} s after the first deletion")
    assert _pods_per_node(api) == dict.fromkeys(nodes, UNITS)
    wait_until(
        "the ledger matches the pods", lambda: _ledger_entries(berth, nodes) == _bound_pods(api, nodes), LEDGER_SECONDS
    )


def _pods(api: KubernetesApi) -> list[JsonObject]:
    found: list[JsonObject] = api.get("/api/v1/namespaces/default/pods")["items"]
    return found


def _pods_per_node(api: KubernetesApi) -> dict[str, int]:
    found = Counter(pod["spec"]["nodeName"] for pod in _pods(api) if pod["spec"].get("nodeName"))
    assert all(count <= UNITS for count in found.values()), f"overcommitted: {found}"
    return dict(found)


def _running(api: KubernetesApi) -> set[str]:
    return {pod["metadata"]["name"] for pod in _pods(api) if pod["spec"].get("nodeName")}


def _names(pods: list[Pod]) -> set[str]:
    return {pod.name for pod in pods}


def _ledger_entries(berth: WithLedger, nodes: list[str]) -> dict[str, set[tuple[str, str]]]:
    """Return the pods and their states in the ledger by node. Asserts that the ledger adds up to the capacity."""
    ledger = berth.ledger()
    for name in nodes:
        found = ledger.get(name, {"capacity": {}, "avail": {}, "owed": {}, "entries": {}})
        held = sum(entry["shares"].get(RESOURCE, 0) for entry in found["entries"].values())
        assert not found["owed"]
        assert held + found["avail"].get(RESOURCE, 0) == found["capacity"].get(RESOURCE, 0) == UNITS
    return {
        name: {(pod, entry["state"]) for pod, entry in ledger[name]["entries"].items()}
        for name in nodes
        if name in ledger
    }


def _bound_pods(api: KubernetesApi, nodes: list[str]) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in nodes}
    for pod in _pods(api):
        if pod["spec"].get("nodeName"):
            found[pod["spec"]["nodeName"]].add((f"default/{pod['metadata']['name']}", "bound"))
    return found
