"""`berth serve` ends while a Binding of it is on the wire, and is started again: one seat is given to one pod."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import urllib3

from berth.ledger.lease import ELECTION

from .berth.berth_serve import BerthServe
from .berth.endpoint import Endpoint
from .berth.held_bindings import HeldBindings
from .berth.identities import counted_resources, identities
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane

RESOURCE = "example.com/seat"
DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {RESOURCE}
"""
START_SECONDS, SENT_SECONDS, POLL_SECONDS = 60, 30, 0.25
SETTLED_SECONDS = 5

BUSY_SECONDS = 30.0
WAITS = {"stopped": BUSY_SECONDS, "killed": ELECTION.lease_duration + ELECTION.longest_retry + BUSY_SECONDS}
"""From the start of the next process until it counts, at most, on an idle cluster. After a crash the Lease has to
expire first. The rest is for a busy machine."""


@pytest.fixture(autouse=True)
def _rights(control_plane: ControlPlane) -> Iterator[None]:
    with counted_resources(control_plane):
        yield


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[HeldBindings]:
    with HeldBindings(control_plane) as proxy:
        yield proxy


@pytest.fixture
def server(control_plane: ControlPlane, proxy: HeldBindings, tmp_path: Path) -> Iterator[BerthServe]:
    found = identities(control_plane)
    binder = control_plane.kubeconfig(proxy.credentials(found.binder))
    server = BerthServe(control_plane.kubeconfig(found.watcher), tmp_path, binder=binder, document=DOCUMENT)
    with server:
        yield server


@pytest.mark.parametrize("arrives_late", [False, True])
@pytest.mark.parametrize("ends", WAITS)
def test_restart_counts_a_binding_on_the_wire_and_waits_no_longer_than_needed(
    cluster: Cluster, server: BerthServe, proxy: HeldBindings, ends: str, *, arrives_late: bool
) -> None:
    node = cluster.create_node("node", extended={RESOURCE: "1"})
    seated, pending = _pod(cluster, "seated"), _pod(cluster, "pending")
    server.wait_for_ledger(node)
    proxy.hold(seated.name)
    with ThreadPoolExecutor(1) as caller:
        caller.submit(_bind, server, seated, node)
        proxy.wait_for_binding(SENT_SECONDS)
        if ends == "killed":
            server.kill()
        else:
            server.stop()
    if not arrives_late:
        proxy.let_go()

    began = time.monotonic()
    server.start()
    error = _bind_when_counting(server, pending, node, began + WAITS[ends])
    print(f"{ends}: counts {time.monotonic() - began:.1f} s after the start, of at most {WAITS[ends]:g} s")
    proxy.let_go()

    if arrives_late:
        assert (error, cluster.object(pending)["spec"].get("nodeName")) == ("", node)
        time.sleep(SETTLED_SECONDS)  # nothing tells when a refused Binding was refused
        assert "nodeName" not in cluster.object(seated)["spec"]
    else:
        assert cluster.object(seated)["spec"]["nodeName"] == node
        assert error == f"Insufficient {RESOURCE}"


def _bind_when_counting(server: BerthServe, pod: Pod, node: str, until: float) -> str:
    """The Error of the first bind that the ledger decided; empty: the pod is on the node."""
    while "ledger" in (error := _bind(server, pod, node)):
        assert time.monotonic() < until, f"it does not count: {error}"
        time.sleep(POLL_SECONDS)
    return error


def _bind(server: BerthServe, pod: Pod, node: str) -> str:
    request = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
    with suppress(urllib3.exceptions.HTTPError):
        answer: str = Endpoint(server.url_prefix).post("bind", json.dumps(request).encode()).json()["Error"]
        return answer
    return "the ledger's server has ended"


def _pod(cluster: Cluster, name: str) -> Pod:
    return cluster.create_pod(name, scheduler="absent", extended={RESOURCE: "1"})
