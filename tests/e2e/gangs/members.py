"""Members of gangs on a real API server, and their outcomes.

A pod never loses its node, so a member without a node was never bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.kubernetes.cluster import Cluster, Pod
from tests.e2e.kubernetes.kubernetes_api import KubernetesApi

PLAIN = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: full
gangs: {enabled: true}
"""
LICENCE = "example.com/licence"
COUNTED = f"{PLAIN}managedResources: [{{name: {LICENCE}}}]\n"

# A node has room for one member, and enough room left for other pods.
NODE_CPU, MEMBER_CPU = "4", "3"
DOES_NOT_FIT = "gang does not fit"
WAITS_FOR_MEMBERS = "gang waits for members"

PLACED_SECONDS = 120
# Long enough for a bind call that waits for members (HTTP_TIMEOUT), and for the scheduler's longest back-off.
STABLE_SECONDS = 12
# Limit for a gang of four that does not fit, in STABLE_SECONDS. Without the gate of bounded retries, a native gang made
# 18,045 calls. With the gate, each member is tried four or five times.
MOST_FILTER_CALLS = 60
# The watcher creates the ledger of a node when the API server has sent a later resource version of pods.
NODE_LEDGER_SECONDS = 180

POLL_SECONDS = 0.1


@dataclass
class Gangs:
    """Members of gangs by Berth's annotations, or by PodGroups, in the namespace `default`."""

    cluster: Cluster
    api: KubernetesApi
    _nodes: int = field(default=0)

    def create_nodes(self, count: int, **options: Any) -> list[str]:
        """Create nodes with room for one member each. options: those of `Cluster.create_node`."""
        return [self.create_node(**options) for _ in range(count)]

    def create_node(self, **options: Any) -> str:
        self._nodes += 1
        return self.cluster.create_node(f"node-{self._nodes}", **{"cpu": NODE_CPU, **options})

    def create(self, name: str, size: int, **options: Any) -> list[Pod]:
        """Create a gang with all of its members. options: those of `create_member`."""
        return [self.create_member(name, number, size, **options) for number in range(size)]

    def create_member(
        self,
        gang: str,
        number: int,
        size: int,
        *,
        cpu: str = MEMBER_CPU,
        label: str | None = None,
        native: bool = False,
        **options: Any,
    ) -> Pod:
        """label: key of a label that names the gang instead of annotations. native: uses a PodGroup of Kubernetes."""
        named: dict[str, Any] = {"annotations": {"berth.dev/gang": gang, "berth.dev/gang-size": str(size)}}
        if label is not None:
            named = {"labels": {label: gang}}
        elif native:
            named = {"scheduling_group": gang}
        return self.cluster.create_pod(f"{gang}-{number}", cpu=cpu, **named, **options)

    def bound(self, pods: Sequence[Pod]) -> dict[str, str]:
        """Return the nodes of the bound pods, by the pod's name."""
        uids = {pod.uid for pod in pods}
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.api.get("/api/v1/namespaces/default/pods")["items"]
            if pod["metadata"]["uid"] in uids and pod["spec"].get("nodeName")
        }

    def wait_until_bound(self, pods: Sequence[Pod], seconds: float = PLACED_SECONDS) -> dict[str, str]:
        """Wait until all of these pods are bound, and return their nodes by the pod's name."""
        wait_until(f"{len(pods)} pods are bound", lambda: len(self.bound(pods)) == len(pods), seconds)
        return self.bound(pods)

    def assert_none_is_bound(self, pods: Sequence[Pod]) -> None:
        """Assert that none of these pods is bound after STABLE_SECONDS."""
        time.sleep(STABLE_SECONDS)
        assert self.bound(pods) == {}

    def events(self, pod: Pod, reason: str) -> list[str]:
        events = self.api.get("/api/v1/namespaces/default/events")["items"]
        return [
            event["message"]
            for event in events
            if (event["involvedObject"].get("uid"), event["reason"]) == (pod.uid, reason)
        ]

    def failed_scheduling(self, pod: Pod) -> list[str]:
        return self.events(pod, "FailedScheduling")

    def wait_until_rejected(self, pods: Sequence[Pod], reason: str) -> None:
        wait_until(
            f"{len(pods)} pods are rejected: {reason}",
            lambda: all(reason in (self.cluster.state(pod).unschedulable or "") for pod in pods),
            PLACED_SECONDS,
        )


def speed(pods: int, seconds: float) -> float:
    return pods / max(seconds, 0.001)


def placed_in(gangs: Gangs, name: str, count: int) -> float:
    """Return the seconds until `count` small pods without a gang are bound; then delete them."""
    started = time.monotonic()
    pods = [gangs.cluster.create_pod(f"{name}-{number}", cpu="10m") for number in range(count)]
    gangs.wait_until_bound(pods)
    seconds = time.monotonic() - started
    for pod in pods:
        gangs.cluster.end_containers(pod)
    return seconds


def wait_until(what: str, holds: Callable[[], bool], seconds: float, *, poll: float = POLL_SECONDS) -> None:
    """Poll until the condition holds. Raises AssertionError with its description after this time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(poll)


def entries(ledger: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    return {node: found["entries"] for node, found in ledger.items()}
