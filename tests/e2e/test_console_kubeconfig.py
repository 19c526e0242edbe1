"""`berth console --kubeconfig` on a real API server, with the rights that docs/how-to/console.md names."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from .berth.console import ConsoleCommand
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import JsonObject, KubernetesApi
from .kubernetes.manifests import apply_manifests, delete_manifests

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "console.md"
NAMESPACE, NAME = "kube-system", "berth-console"


SHOWN_SECONDS = 2.0
SAID_SECONDS = 30.0
POLL_SECONDS = 0.02


def documented_role() -> JsonObject:
    """The one in the how-to."""
    blocks = re.findall(r"```yaml\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    found: list[JsonObject] = [each for each in map(yaml.safe_load, blocks) if each.get("kind") == "ClusterRole"]
    [role] = found
    assert role["metadata"]["name"] == NAME
    return role


def rights() -> list[tuple[str, str]]:
    """Each resource with each verb."""
    rules = documented_role()["rules"]
    return [(resource, verb) for rule in rules for resource in rule["resources"] for verb in rule["verbs"]]


@pytest.fixture
def grant(control_plane: ControlPlane) -> Iterator[Callable[[JsonObject], Path]]:
    """A kubeconfig of a user with this role and no other one."""
    api = KubernetesApi(control_plane.credentials())
    metadata = {"name": NAME, "namespace": NAMESPACE}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", **metadata}],
    }

    def granted(role: JsonObject) -> Path:
        apply_manifests(api, [account, role, binding])
        return control_plane.kubeconfig(control_plane.service_account(NAMESPACE, NAME))

    yield granted
    delete_manifests(api, [binding, documented_role(), account])


def seconds_until(shown: Callable[[], bool], answer: Callable[[], object] = str) -> float:
    """At most SAID_SECONDS. answer: what the console says, for the message of a failure."""
    started = time.monotonic()
    while not shown():
        assert time.monotonic() - started < SAID_SECONDS, answer()
        time.sleep(POLL_SECONDS)
    return time.monotonic() - started


def test_documented_rights_are_enough_and_a_change_shows_within_two_seconds(
    grant: Callable[[JsonObject], Path], cluster: Cluster, tmp_path: Path
) -> None:
    with ConsoleCommand(tmp_path, f"--kubeconfig={grant(documented_role())}") as console:
        session = console.session()
        seconds_until(lambda: "nodes" in session.get("/api/cluster"), lambda: session.get("/api/cluster"))
        assert session.get("/api/cluster")["problem"] == ""

        node = cluster.create_node("plain")
        until_node = seconds_until(lambda: node in {each["name"] for each in session.get("/api/cluster")["nodes"]})
        pod = cluster.create_pod("waits", cpu="99")
        until_pod = seconds_until(lambda: _reasons(session.get("/api/pending"), pod.name) is not None)
        until_judged = seconds_until(lambda: _reasons(session.get("/api/pending"), pod.name) == ["Insufficient cpu"])
    print(f"node: {until_node:.2f} s; pod: {until_pod:.2f} s; its reason: {until_judged:.2f} s later")
    assert max(until_node, until_pod + until_judged) < SHOWN_SECONDS


def _reasons(found: Any, pod: str) -> list[str] | None:
    """None while the pod is not shown."""
    shown = [each["reasons"] for each in found["pods"] if each["name"] == pod]
    return [found["reasons"][at]["reason"] for at in shown[0]] if shown else None
