"""Floating resources: twelve seats for the cluster, connections by zone, a limit for each namespace.

Two kube-schedulers place the pods at once. Each pod ends a second after it was bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from .berth.extender import SERVE_AND_STACK
from .berth.with_ledger import ServeWithLedger, StackWithLedger, WithLedger, counting
from .gangs.members import wait_until
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.running_pods import RunningPods
from .kubernetes.scheduler_configuration import filter_prioritize_bind, scheduler_configuration

SEAT, CONNECTION, TOKEN = "example.com/seat", "example.com/connection", "example.com/token"
ZONE = "topology.kubernetes.io/zone"
SEATS = 12
DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
gangs: {{enabled: true}}
managedResources:
  - {{name: {SEAT}, capacity: {{value: {SEATS}, scope: cluster}}}}
  - {{name: {CONNECTION}, capacity: {{value: 4, scope: {ZONE}, values: {{c: 2}}}}}}
  - {{name: {TOKEN}, capacity: {{value: 30, scope: cluster}}, perNamespace: 6}}
"""
SCHEDULERS = ("berth-scheduler", "berth-second")
NAMESPACES = ("default", "kube-node-lease")
RUN_SECONDS = 1.0
PODS = {"serve": 200, "stack": 60}
LEDGER_SECONDS, DONE_SECONDS = 180, 300
HTTP_TIMEOUT_SECONDS = 30

Berth = ServeWithLedger | StackWithLedger


@pytest.fixture(scope="module", params=SERVE_AND_STACK)
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Berth]:
    directory = tmp_path_factory.mktemp(f"floating-{request.param}")
    with counting(request.param, control_plane, directory, DOCUMENT, HTTP_TIMEOUT_SECONDS) as berth:
        yield berth


@pytest.fixture
def schedulers(berth: Berth, control_plane: ControlPlane) -> Iterator[None]:
    extender = replace(
        filter_prioritize_bind(berth.url_prefix),
        preempt_verb=None,
        http_timeout=f"{HTTP_TIMEOUT_SECONDS}s",
        managed_resources=(SEAT, CONNECTION, TOKEN),
    )
    with ExitStack() as stack:
        for name in SCHEDULERS:
            document = {**scheduler_configuration([extender]), "profiles": [{"schedulerName": name}]}
            stack.enter_context(control_plane.scheduler(document))
        yield


def _amounts(pod: JsonObject) -> Mapping[str, int]:
    requests = pod["spec"]["containers"][0]["resources"].get("requests", {})
    namespace = pod["metadata"]["namespace"]
    found: dict[str, int] = {}
    for name in (SEAT, CONNECTION, TOKEN):
        if name in requests:
            found[name] = int(requests[name])
            found[f"{name} of {namespace}"] = int(requests[name])
    if CONNECTION in requests:
        found[f"{CONNECTION} on {pod['spec']['nodeName'].partition('-')[0]}"] = int(requests[CONNECTION])
    return found


@contextmanager
def _running(control_plane: ControlPlane) -> Iterator[RunningPods]:
    with RunningPods(control_plane.credentials(), _amounts, NAMESPACES, RUN_SECONDS) as running:
        yield running


def _wait_for_pool(berth: WithLedger, pool: str) -> None:
    wait_until(f"{pool} has a ledger", lambda: pool in berth.ledger(), LEDGER_SECONDS)


def _scheduler(number: int) -> str:
    return SCHEDULERS[number % len(SCHEDULERS)]


@pytest.mark.core
@pytest.mark.usefixtures("schedulers")
def test_two_schedulers_never_bind_more_pods_than_the_cluster_has_seats(
    berth: Berth, control_plane: ControlPlane, cluster: Cluster
) -> None:
    count = PODS["stack" if isinstance(berth, StackWithLedger) else "serve"]
    for number in range(4):
        cluster.create_node(f"seats-{number}", cpu="64")
    _wait_for_pool(berth, f"{SEAT}@cluster")
    started = time.monotonic()
    with _running(control_plane) as running:
        for number in range(count):
            cluster.create_pod(f"seat-{number}", cpu="1m", extended={SEAT: "1"}, scheduler=_scheduler(number))
        running.wait_until_ended(count, DONE_SECONDS)
        wait_until("every seat is free again", lambda: _entries(berth, f"{SEAT}@cluster") == 0, LEDGER_SECONDS)
    seconds, ideal = max(running.bound_at.values()) + RUN_SECONDS - started, count / SEATS * RUN_SECONDS
    print(f"{count} pods on {SEATS} seats: {seconds:.1f} s, {seconds / ideal:.2f} times the ideal {ideal:.1f} s")
    assert running.most[SEAT] <= SEATS


@pytest.mark.usefixtures("schedulers")
def test_two_schedulers_keep_the_limits_of_zones_and_namespaces(
    berth: Berth, control_plane: ControlPlane, cluster: Cluster
) -> None:
    for zone in ("a", "b", "c"):
        cluster.create_node(f"{zone}-", {ZONE: zone}, cpu="64")
    for zone in ("a", "b", "c"):
        _wait_for_pool(berth, f"{CONNECTION}@{ZONE}={zone}")
    with _running(control_plane) as running:
        for number in range(40):
            options: dict[str, Any] = {"cpu": "1m", "scheduler": _scheduler(number)}
            cluster.create_pod(f"connection-{number}", extended={CONNECTION: "1"}, **options)
            namespace = NAMESPACES[number % len(NAMESPACES)]
            cluster.create_pod(f"token-{number}", namespace=namespace, extended={TOKEN: "1"}, **options)
        running.wait_until_ended(80, DONE_SECONDS)
    most = {"a": 4, "b": 4, "c": 2}
    assert all(running.most[f"{CONNECTION} on {name}"] <= limit for name, limit in most.items())
    assert all(running.most[f"{TOKEN} of {name}"] <= 6 for name in NAMESPACES)


@pytest.mark.usefixtures("schedulers")
def test_gang_of_a_higher_priority_gets_its_seats_although_single_pods_keep_arriving(
    berth: Berth, control_plane: ControlPlane, cluster: Cluster, api: KubernetesApi
) -> None:
    high = cluster.create_priority_class("gangs", 1000)
    for number in range(4):
        cluster.create_node(f"seats-{number}", cpu="64")
    _wait_for_pool(berth, f"{SEAT}@cluster")
    gang: list[Pod] = []
    with _running(control_plane) as running:
        for number in range(60):
            cluster.create_pod(f"single-{number}", cpu="1m", extended={SEAT: "1"}, scheduler=_scheduler(number))
            if number == 20:
                wait_until("single pods hold all seats", lambda: running.most[SEAT] == SEATS, LEDGER_SECONDS)
                names = {"berth.dev/gang": "train", "berth.dev/gang-size": "8"}
                gang = [
                    cluster.create_pod(
                        f"member-{each}",
                        cpu="1m",
                        extended={SEAT: "1"},
                        annotations=names,
                        priority_class=high,
                        scheduler=SCHEDULERS[0],
                    )
                    for each in range(8)
                ]
        started = time.monotonic()
        wait_until("the gang is bound", lambda: all(pod.path in running.nodes for pod in gang), DONE_SECONDS)
        singles = sum("/single-" in path for path in running.nodes)
        print(f"the gang of 8 was bound after {time.monotonic() - started:.1f} s; {singles} of 60 single pods before")
        running.wait_until_ended(68, DONE_SECONDS)
    assert running.most[SEAT] <= SEATS


def _entries(berth: WithLedger, pool: str) -> int:
    return len(berth.ledger().get(pool, {}).get("entries", {}))
