"""What the cluster of these tests is made of: its nodes, what their pods may ask for, and what a pod on a node holds.

This is a second account of it, which shares nothing with Berth's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from tests.e2e.berth.label_priority import priority
from tests.e2e.kubernetes.kubernetes_api import JsonObject

SLOT = "example.com/slot"
MEMORY = "example.com/gpu-memory"
COUNTED = (SLOT, MEMORY)
COUNT_LABEL, SIZE_LABEL = "example.com/gpu.count", "example.com/gpu.memory"
DEVICE_ANNOTATION = "berth.dev/example.com.gpu-memory"
NODES = tuple(f"node-{number}" for number in range(5))
SLOTS, DEVICES, DEVICE_SIZE = 8, 2, 8000
CAPACITY: Mapping[str, int] = {SLOT: SLOTS} | {f"{MEMORY}#{index}": DEVICE_SIZE for index in range(DEVICES)}
SCHEDULERS = ("default-scheduler", "second-scheduler")
TEAM = "example.com/team"
TEAMS = 3
"""A team has one pod on a node: its pods say so by anti-affinity. The schedulers do not see each other's binds."""

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
"""
"""What is applied: every node's slots and the memory of its devices are counted, and pods keep apart."""

DEPLOYED = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: label-priority
"""
"""What counts where nothing is applied: no resource."""


def node(name: str) -> JsonObject:
    allocatable = {"cpu": "64", "memory": "64Gi", "pods": "110", SLOT: str(SLOTS)}
    labels = {"kubernetes.io/hostname": name, COUNT_LABEL: str(DEVICES), SIZE_LABEL: str(DEVICE_SIZE), **priority(10)}
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": allocatable,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def drawn_request(random: Random) -> dict[str, int]:
    """Return the requests of the next pod; one in eight requests no counted resource."""
    kind = random.randrange(8)
    found = {}
    if kind in (1, 2, 3, 4):
        found[SLOT] = random.randint(1, 3)
    if kind in (4, 5, 6, 7):
        found[MEMORY] = random.choice((2000, 3000, 4500, 6000))
    return found


def drawn_team(random: Random) -> str:
    """Return the team of the next pod; two in three pods have none."""
    number = random.randrange(3 * TEAMS)
    return f"team-{number}" if number < TEAMS else ""


def pod(name: str, request: Mapping[str, int], scheduler: str, team: str = "") -> JsonObject:
    resources = {"requests": {"cpu": "1m"}, "limits": {each: str(amount) for each, amount in request.items()}}
    labels = {TEAM: team} if team else {}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            **({"affinity": apart} if team else {}),
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "app", "image": "app", "resources": resources}],
        },
    }


@dataclass(frozen=True)
class PodOnAccount:
    """A pod as the API server has it. message: of its condition PodScheduled. team: empty for none."""

    namespace: str
    name: str
    uid: str
    node: str
    request: Mapping[str, int]
    device: str
    message: str
    team: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def shares(self) -> Mapping[str, int]:
        """By pool, the amounts that it holds on its node. An unnamed device gives a key of no pool."""
        return {
            f"{MEMORY}#{self.device}" if resource == MEMORY else resource: amount
            for resource, amount in self.request.items()
        }

    def fits(self, free: Mapping[str, int]) -> bool:
        """Whether there is room for it beside the others."""
        if self.request.get(SLOT, 0) > free.get(SLOT, 0):
            return False
        rooms = [amount for pool, amount in free.items() if pool.startswith(f"{MEMORY}#")]
        return self.request.get(MEMORY, 0) <= max(rooms, default=0)


_WHOLE = re.compile(r"([0-9]+)(k?)")


def _amount(text: str) -> int:
    """The API server writes 2000 as 2k."""
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
    )


def held(pods: Iterable[PodOnAccount]) -> Mapping[str, Mapping[str, int]]:
    """Return the amounts that pods hold of each pool, by node."""
    found: dict[str, Counter[str]] = {}
    for each in pods:
        if each.node:
            found.setdefault(each.node, Counter()).update(each.shares)
    return found


def teams_on(pods: Iterable[PodOnAccount], node: str) -> Counter[str]:
    return Counter(each.team for each in pods if each.node == node and each.team)


def overcommitted(on: Mapping[str, int]) -> str:
    """Describe the amounts above a node's capacity or without a device; empty if there are none."""
    return ", ".join(
        f"{amount} {pool[:-1]} of no device" if pool.endswith("#") else f"{amount} of {CAPACITY.get(pool, 0)} {pool}"
        for pool, amount in sorted(on.items())
        if amount > CAPACITY.get(pool, 0)
    )
