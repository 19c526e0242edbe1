"""The model of the tests' cluster: its nodes, the requests of its pods, and the amounts that a pod on a node holds.

The model does not share any code with Berth.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from tests.e2e.berth.label_priority import priority
from tests.e2e.kubernetes.cluster import ready_node
from tests.e2e.kubernetes.kubernetes_api import JsonObject

SLOT = "example.com/slot"
MEMORY = "example.com/gpu-memory"
SEAT = "example.com/seat"
LINK = "example.com/link"
COUNTED = (SLOT, MEMORY, SEAT, LINK)
FLOATING = (SEAT, LINK)
COUNT_LABEL, SIZE_LABEL = "example.com/gpu.count", "example.com/gpu.memory"
DEVICE_ANNOTATION = "berth.dev/example.com.gpu-memory"
NODES = tuple(f"node-{number}" for number in range(5))
SLOTS, DEVICES, DEVICE_SIZE = 8, 2, 8000
ZONE = "topology.kubernetes.io/zone"
ZONES = 2
NAMESPACES = ("default", "tenant")
SEATS, SEATS_OF_NAMESPACE, LINKS = 9, 6, 3
"""Seats of the cluster and of each namespace, and links of each zone: fewer than the pods request together."""
GANG, GANG_SIZE = "berth.dev/gang", 2
CAPACITY: Mapping[str, int] = {SLOT: SLOTS} | {f"{MEMORY}#{index}": DEVICE_SIZE for index in range(DEVICES)}
SCHEDULERS = ("default-scheduler", "second-scheduler")
TEAM = "example.com/team"
TEAMS = 3
"""Number of teams. A team may have one pod on a node, by anti-affinity; schedulers do not see each other's binds."""

DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: chaos
definitions:
  chaos:
    extends: managed-resources
    plugins:
      enabled:
        - name: InterPodAffinity
managedResources:
  - name: {SLOT}
  - name: {MEMORY}
    devices:
      count: {{nodeLabel: {COUNT_LABEL}}}
      size: {{nodeLabel: {SIZE_LABEL}}}
  - name: {SEAT}
    capacity: {{value: {SEATS}, scope: cluster}}
    perNamespace: {SEATS_OF_NAMESPACE}
  - name: {LINK}
    capacity: {{value: {LINKS}, scope: {ZONE}}}
gangs:
  enabled: true
"""
"""The applied configuration: it counts slots and devices of nodes and three kinds of pools, and keeps pods apart."""

DEPLOYED = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: label-priority
"""
"""The deployed configuration, which does not count any resource."""


def node(name: str) -> JsonObject:
    labels = {ZONE: zone_of(name), COUNT_LABEL: str(DEVICES), SIZE_LABEL: str(DEVICE_SIZE), **priority(10)}
    return ready_node(name, labels, {"cpu": "64", "memory": "64Gi", SLOT: str(SLOTS)})


def zone_of(node: str) -> str:
    return f"zone-{int(node.removeprefix('node-')) % ZONES}"


def drawn_request(random: Random) -> dict[str, int]:
    """Return the requests of the next pod; one pod in twelve does not request a counted resource."""
    kind = random.randrange(12)
    found = {}
    if kind in (1, 2, 3, 4):
        found[SLOT] = random.randint(1, 3)
    if kind in (4, 5, 6, 7):
        found[MEMORY] = random.choice((2000, 3000, 4500, 6000))
    if kind in (4, 8, 9, 10):
        found[SEAT] = random.randint(1, 2)
    if kind in (10, 11):
        found[LINK] = random.randint(1, 2)
    return found


def drawn_team(random: Random) -> str:
    """Return the team of the next pod; two in three pods do not get a team (an empty string)."""
    number = random.randrange(3 * TEAMS)
    return f"team-{number}" if number < TEAMS else ""


def pod(name: str, request: Mapping[str, int], scheduler: str, team: str = "", gang: str = "") -> JsonObject:
    resources = {"requests": {"cpu": "1m"}, "limits": {each: str(amount) for each, amount in request.items()}}
    labels = {TEAM: team} if team else {}
    term = {"labelSelector": {"matchLabels": labels}, "namespaceSelector": {}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {GANG: gang, f"{GANG}-size": str(GANG_SIZE)} if gang else {},
        },
        "spec": {
            **({"affinity": apart} if team else {}),
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "app", "image": "app", "resources": resources}],
        },
    }


@dataclass(frozen=True)
class PodOnAccount:
    """A pod at the API server. message: of a false condition PodScheduled. team, gang: empty if the pod has none."""

    namespace: str
    name: str
    uid: str
    node: str
    request: Mapping[str, int]
    device: str
    message: str
    team: str = ""
    gang: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def shares(self, node: str) -> Mapping[str, Mapping[str, int]]:
        """Return the amounts that the pod holds on this node, by owner and pool. Without a device annotation, the
        device's key is not a pool."""
        found: dict[str, dict[str, int]] = {}
        for resource, amount in self.request.items():
            if resource == SEAT:
                pools = [f"{SEAT}@cluster", f"{SEAT}@namespace={self.namespace}"]
            elif resource == LINK:
                pools = [f"{LINK}@{ZONE}={zone_of(node)}"]
            else:
                pools = [f"{MEMORY}#{self.device}" if resource == MEMORY else resource]
            for pool in pools:
                found.setdefault(pool if resource in FLOATING else node, {})[pool] = amount
        return found

    def fits(self, node: str, on: Mapping[str, Mapping[str, int]], members: int = 1) -> bool:
        """Return whether the node has room beside the held amounts, and the pools have room for `members` such pods."""
        rooms = [DEVICE_SIZE - on.get(node, {}).get(f"{MEMORY}#{index}", 0) for index in range(DEVICES)]
        return (
            self.request.get(SLOT, 0) <= SLOTS - on.get(node, {}).get(SLOT, 0)
            and self.request.get(MEMORY, 0) <= max(rooms)
            and all(
                members * amount <= capacity_of(owner)[pool] - on.get(owner, {}).get(pool, 0)
                for owner, shares in self.shares(node).items()
                if owner != node
                for pool, amount in shares.items()
            )
        )


def capacity_of(owner: str) -> Mapping[str, int]:
    """Return the capacity by pool. owner: a node, or a floating pool."""
    if owner.startswith(f"{SEAT}@"):
        return {owner: SEATS if owner == f"{SEAT}@cluster" else SEATS_OF_NAMESPACE}
    return {owner: LINKS} if owner.startswith(f"{LINK}@") else CAPACITY


_WHOLE = re.compile(r"([0-9]+)(k?)")


def _amount(text: str) -> int:
    """Parse an amount: the API server writes 2000 as 2k."""
    found = _WHOLE.fullmatch(text)
    assert found is not None, text
    return int(found[1]) * (1000 if found[2] else 1)


def pod_on_account(found: JsonObject) -> PodOnAccount:
    metadata, spec = found["metadata"], found["spec"]
    limits = spec["containers"][0].get("resources", {}).get("limits", {})
    message = next(
        (
            each.get("message", "")
            for each in found.get("status", {}).get("conditions", ())
            if each["type"] == "PodScheduled" and each["status"] == "False"
        ),
        "",
    )
    return PodOnAccount(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        spec.get("nodeName", ""),
        {name: _amount(limits[name]) for name in COUNTED if name in limits},
        metadata.get("annotations", {}).get(DEVICE_ANNOTATION, ""),
        message,
        metadata.get("labels", {}).get(TEAM, ""),
        metadata.get("annotations", {}).get(GANG, ""),
    )


def held(pods: Iterable[PodOnAccount]) -> Mapping[str, Mapping[str, int]]:
    """Return the amounts that pods on nodes hold, by owner and pool."""
    found: dict[str, Counter[str]] = {}
    for each in pods:
        for owner, shares in each.shares(each.node).items() if each.node else ():
            found.setdefault(owner, Counter()).update(shares)
    return found


def teams_on(pods: Iterable[PodOnAccount], node: str) -> Counter[str]:
    return Counter(each.team for each in pods if each.node == node and each.team)


def overcommitted(pods: Iterable[PodOnAccount]) -> Mapping[str, str]:
    """Describe, by owner, the amounts above its capacity or without a device."""
    found: dict[str, str] = {}
    for owner, on in held(pods).items():
        capacity = capacity_of(owner)
        beyond = [(pool, amount) for pool, amount in sorted(on.items()) if amount > capacity.get(pool, 0)]
        if beyond:
            found[owner] = ", ".join(
                f"{amount} {pool[:-1]} of no device"
                if pool.endswith("#")
                else f"{amount} of {capacity.get(pool, 0)} {pool}"
                for pool, amount in beyond
            )
    return found
