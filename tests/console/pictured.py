"""The contents of the pictures: a cluster and its decisions, the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from time import time

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.console.cluster import ObservedCluster
from berth_cli.console.decisions import Decision, DecisionsHere
from berth_cli.console.running import ConsoleContents
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.gangs import member
from tests.builders.nodes import PRIORITY
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.console.served import LiveSource
from tests.fakes.verbs import Verbs
from tests.unit.cli.console.cases import node, pod

ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
POOLS = ("general", "compute", "memory", "gpu")
USE = {"general": 0.6, "compute": 0.9, "memory": 0.4, "gpu": 0.2}
GPU = "example.com/gpu"
PODS_OF_A_NODE = 8
CONFIGURED = ActiveConfiguration.of(
    BerthConfiguration.model_validate(
        {"profile": "full", "managedResources": [{"name": GPU}], "gangs": {"enabled": True}}
    )
)


def shown() -> ConsoleContents:
    nodes, pods = cluster()
    return ConsoleContents(PicturedSource(nodes, pods, CONFIGURED), PicturedDecisions(decisions(nodes)))


def cluster() -> tuple[list[NodeInfo], list[Pod]]:
    """Return 240 nodes whose use differs by pool, the pods on them, and pending pods."""
    nodes, pods = [], list(waiting())
    drawn = Random(20)
    for number in range(240):
        zone, pool = ZONES[number % 3], POOLS[number // 3 % 4]
        labels = {"topology.kubernetes.io/zone": zone, "pool": pool}
        if pool != "gpu":
            labels[PRIORITY] = str({"general": 90, "compute": 60, "memory": 30}[pool] + number % 7)
        allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"} | ({GPU: "8"} if pool == "gpu" else {})
        name = f"{pool}-{number}"
        # Some nodes are cordoned, and one is not ready.
        fields: dict[str, object] = {"unschedulable": True} if number % 31 == 5 else {}
        if number == 137:
            fields = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}] if pool == "gpu" else []
        nodes.append(node(name, labels=labels, taints=taints, allocatable=allocatable, **fields))
        share = USE[pool] * drawn.uniform(0.5, 1.1)
        for at in range(PODS_OF_A_NODE):
            milli = round(16_000 * min(1.0, share) / PODS_OF_A_NODE * drawn.uniform(0.6, 1.3))
            requests = {"cpu": f"{milli}m", "memory": "2Gi"} | ({GPU: "1"} if pool == "gpu" and at < number % 9 else {})
            pods.append(pod(f"{pool}-app-{number}-{at}", name, requests=requests))
    return nodes, pods


def waiting() -> Iterator[Pod]:
    for number in range(6):
        yield pod(f"train-{number}", requests={"cpu": "15500m"})
    for number in range(3):
        yield pod(f"report-{number}", requests={"memory": "96Gi"})
    yield pod("archive-0", nodeSelector={"disk": "nvme"})
    yield pod("web-0", requests={"cpu": "250m"})
    yield pod("batch-0", schedulingGates=[{"name": "quota"}])
    for number in range(3):
        yield member(f"render-{number}", "render", 4, requests={"cpu": "8"})


def decisions(nodes: Sequence[NodeInfo]) -> RecentDecisions:
    """Return the decisions of the verbs about some pods."""
    recent = RecentDecisions(time)
    configuration = BerthConfiguration.model_validate({"profile": "label-priority"})
    verbs = Verbs(nodes, configuration=configuration, recorder=recent)
    names = [each.name for each in nodes]
    for number in range(9):
        asked = pod_object(("web", "api", "report")[number % 3] + f"-{number}", requests={"cpu": "500m"})
        among = names[number * 5 :]
        verbs.ask("filter", cache_mode(among, asked))
        verbs.ask("prioritize", cache_mode([name for name in among if not name.startswith("gpu")], asked))
    return recent


class PicturedSource(LiveSource):
    @property
    def name(self) -> str:
        return "berth-production"

    def observe(self, timeout: float) -> ObservedCluster:
        return replace(super().observe(timeout), observed_at=time() - 0.4)


class PicturedDecisions(DecisionsHere):
    def all(self) -> Sequence[Decision]:
        return [self._fresh(each) for each in super().all()]

    def _fresh(self, decision: Decision) -> Decision:
        fresh = {"cacheAgeSeconds": 0.4}
        return replace(decision, record={**decision.record, **fresh}, details=lambda: {**decision.details(), **fresh})
