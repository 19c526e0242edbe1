"""Owners of pods against the ledger: changed annotations of running pods, and a pod bound by spec.nodeName."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from .berth.identities import counted_resources, serve
from .berth.serve_with_ledger import ledger_in
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.scheduler_configuration import filter_prioritize_bind

MEMORY = "example.com/gpumem"
SEAT, LICENCE = "example.com/seat", "example.com/licence"
TABLE, TABLES = "example.com/table", "example.com/tables"
"""A resource that pods request by an annotation."""

ANNOTATION = "berth.dev/example.com.gpumem"
SIZES = "example.com/gpumem-sizes"
DEVICES = {f"{MEMORY}#0": 8000, f"{MEMORY}#1": 8000}

CONFIGURATION = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {MEMORY}
    devices:
      sizes: {{nodeLabel: {SIZES}}}
  - name: {SEAT}
    capacity: {{nodeLabel: {SEAT}}}
  - name: {LICENCE}
    capacity: {{nodeLabel: {LICENCE}}}
    podLimit: 4
  - name: {TABLE}
    capacity: {{nodeLabel: {TABLE}}}
    requests: {{podAnnotation: {TABLES}}}
"""

LEDGER_SECONDS = 180
BIND_SECONDS = 60
STABLE_SECONDS = 20


@pytest.fixture(scope="module", autouse=True)
def _rights(control_plane: ControlPlane) -> Iterator[None]:
    with counted_resources(control_plane):
        yield


def test_changed_device_annotation_of_running_pod_frees_no_device(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    api = KubernetesApi(control_plane.credentials())
    file = tmp_path / "ledger.json"
    command = (sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", file)
    with serve(control_plane, tmp_path, document=CONFIGURATION, command=command) as berth:
        node = cluster.create_node("gpus", labels={SIZES: "8000_8000"})

        def ledger() -> dict[str, Any]:
            found: dict[str, Any] = ledger_in(file).get(node, {"capacity": {}, "avail": {}, "entries": {}})
            return found

        _wait_until("the node has a ledger", lambda: ledger()["capacity"] == DEVICES, LEDGER_SECONDS)
        configuration = filter_prioritize_bind(berth.url_prefix)
        run_scheduler(replace(configuration, preempt_verb=None, managed_resources=(MEMORY,)))
        pods = {name: cluster.create_pod(name, cpu="1m", extended={MEMORY: "6000"}) for name in ("a", "b")}
        _wait_until(
            "the ledger has confirmed both pods",
            lambda: [entry["state"] for entry in ledger()["entries"].values()] == ["bound", "bound"],
            BIND_SECONDS,
        )
        before = ledger()
        assert before["avail"] == {f"{MEMORY}#0": 2000, f"{MEMORY}#1": 2000}

        api.patch(pods["a"].path, {"metadata": {"annotations": {ANNOTATION: "200"}}})
        third = cluster.create_pod("third", cpu="1m", extended={MEMORY: "6000"})
        _stays_pending(cluster, third)
        assert _events(api, pods["a"]) == ["ReservationDiverged"]
        after = ledger()["entries"]
        assert {pod: entry for pod, entry in after.items() if entry["state"] == "bound"} == before["entries"]

        device = cluster.object(pods["b"])["metadata"]["annotations"][ANNOTATION]
        cluster.end_containers(pods["b"])
        assert cluster.wait_until_assigned(third) == node
        assert cluster.object(third)["metadata"]["annotations"][ANNOTATION] == device


def test_oversized_pod_bound_by_its_creator_is_charged_the_limit_of_one_pod(
    control_plane: ControlPlane, cluster: Cluster, run_scheduler: RunScheduler, tmp_path: Path
) -> None:
    api = KubernetesApi(control_plane.credentials())
    file = tmp_path / "ledger.json"
    command = (sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", file)
    with serve(control_plane, tmp_path, document=CONFIGURATION, command=command) as berth:
        node = cluster.create_node("licences", labels={SEAT: "8", LICENCE: "8"})

        def ledger() -> dict[str, Any]:
            found: dict[str, Any] = ledger_in(file).get(node, {"capacity": {}, "entries": {}})
            return found

        _wait_until("the node has a ledger", lambda: bool(ledger()["capacity"]), LEDGER_SECONDS)
        configuration = filter_prioritize_bind(berth.url_prefix)
        run_scheduler(replace(configuration, preempt_verb=None, managed_resources=(SEAT, LICENCE)))
        forged = cluster.create_pod("forged", cpu="1m", node=node, extended={SEAT: "1P", LICENCE: "1P"})
        _wait_until("the ledger has the pod", lambda: bool(ledger()["entries"]), BIND_SECONDS)
        assert ledger()["entries"]["default/forged"]["shares"] == {SEAT: 8, LICENCE: 4}
        assert (ledger()["avail"], ledger()["owed"]) == ({LICENCE: 4}, {})
        _wait_until("the pod has its event", lambda: _events(api, forged) == ["RequestBeyondLimit"], BIND_SECONDS)

        licences = cluster.create_pod("licences", cpu="1m", extended={LICENCE: "4"})
        assert cluster.wait_until_assigned(licences) == node
        seats = cluster.create_pod("seats", cpu="1m", extended={SEAT: "8"})
        cluster.wait_until_unschedulable(seats, f"0/1 nodes are available: 1 Insufficient {SEAT}")
        cluster.end_containers(forged)
        assert cluster.wait_until_assigned(seats) == node


def _events(api: KubernetesApi, pod: Pod) -> list[str]:
    """The reasons of the watcher's events on the pod, as `kubectl describe` finds them."""
    events = api.get(f"/api/v1/namespaces/{pod.namespace}/events").get("items") or []
    return [
        event["reason"]
        for event in events
        if event["involvedObject"].get("uid") == pod.uid and event["reportingComponent"] == "berth.dev/watcher"
    ]


def _stays_pending(cluster: Cluster, pod: Pod) -> None:
    until = time.monotonic() + STABLE_SECONDS
    while time.monotonic() < until:
        assert not cluster.state(pod).node, "what a running pod uses was given to another pod"
        time.sleep(0.5)


def _wait_until(what: str, holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.2)
