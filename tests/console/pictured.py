"""What the pictures show: a cluster, its decisions, its health and its policies, the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from time import time

from berth.configuration.store import ActiveConfiguration
from berth.decisions.recent import RecentDecisions
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod
from berth_cli.console.cluster.source import ObservedCluster
from berth_cli.console.decisions.recent import DecisionsHere
from berth_cli.console.health.calls import Call
from berth_cli.console.health.source import HealthSource
from berth_cli.console.policy.documents import SecondPolicy
from berth_cli.console.running import ConsoleContents
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
CALL_SECONDS = 110
CONFIGURED = ActiveConfiguration.of(
    BerthConfiguration.model_validate(
        {"profile": "full", "managedResources": [{"name": GPU}], "gangs": {"enabled": True}}
    )
)
PROPOSED = SecondPolicy("proposed.yaml", BerthConfiguration.model_validate({"profile": "label-priority"}))


def shown() -> ConsoleContents:
    """All that a console can show."""
    nodes, pods = cluster()
    return ConsoleContents(
        PicturedSource(nodes, pods, CONFIGURED),
        PicturedHealth(),
        PicturedDecisions(decisions(nodes)),
        PROPOSED,
        shadow=shadow,
    )


def cluster() -> tuple[list[NodeInfo], list[Pod]]:
    """240 nodes whose use differs by pool, and pods that fit nowhere."""
    nodes, pods = [], list(waiting())
    drawn = Random(20)
    for number in range(240):
        zone, pool = ZONES[number % 3], POOLS[number // 3 % 4]
        labels = {"topology.kubernetes.io/zone": zone, "pool": pool}
        if pool != "gpu":
            labels[PRIORITY] = str({"general": 90, "compute": 60, "memory": 30}[pool] + number % 7)
        allocatable = {"cpu": "16", "memory": "64Gi", "pods": "110"} | ({GPU: "8"} if pool == "gpu" else {})
        name = f"{pool}-{number}"
        # Some are being drained, and one does not answer.
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
    """Pending pods of several reasons."""
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
    """What the verbs said of some pods."""
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
    """Its data is always fresh."""

    @property
    def name(self) -> str:
        return "berth-production"

    def observe(self, timeout: float) -> ObservedCluster:
        return replace(super().observe(timeout), observed_at=time() - 0.4)


class PicturedDecisions(DecisionsHere):
    """Real ones on fresh data, and calls over time that look like a morning's."""

    def after(self, number: int) -> Sequence[Mapping[str, object]]:
        return [{**each, "cacheAgeSeconds": 0.4} for each in super().after(number)]

    def details(self, number: int) -> Mapping[str, object] | None:
        found = super().details(number)
        return None if found is None else {**found, "cacheAgeSeconds": 0.4}

    def calls(self) -> Sequence[Call]:
        drawn, now = Random(7), time()
        return [
            Call(now - CALL_SECONDS + at / 4, verb, base * drawn.uniform(0.8, 1.6) * (4 if at % 97 == 0 else 1))
            for at in range(CALL_SECONDS * 4)
            for verb, base in (("filter", 1.9), ("prioritize", 2.6), ("bind", 11.0))
            if drawn.random() < (0.9 if at % 160 > 60 else 0.3) * (0.4 if verb == "bind" else 1)
        ]


class PicturedHealth(HealthSource):
    """An installation that works."""

    def facts(self, wall: float) -> Mapping[str, object]:
        ages = {"nodes": (0.4, 41.0), "pods": (0.4, 41.0), "poddisruptionbudgets": (0.4, 41.0)}
        return {
            "cache": {
                "status": "ok",
                "observedAgeSeconds": 0.4,
                "heartbeatAgeSeconds": 0.7,
                "maxStalenessSeconds": 180,
                "configurationHash": "5d41402abc4b",
                "writerVersion": "0.1.0",
            },
            "published": {
                "version": 4711,
                "heartbeatAgeSeconds": 0.7,
                "logBytes": 18_432,
                "snapshotBytes": 412_672,
                "snapshotAgeSeconds": 95.0,
                "resources": {
                    name: {"ageSeconds": age, "listedAgeSeconds": listed} for name, (age, listed) in ages.items()
                },
            },
            "leader": {
                "holder": "watcher-7f9c",
                "renewedSecondsAgo": 0.7,
                "leaseDurationSeconds": 15,
                "transitions": 12,
            },
            "reservations": {
                "count": 31,
                "open": 1,
                "owed": 0,
                "rebuilding": 0,
                "reservations": [
                    {
                        "pod": f"ml/train-{number}",
                        "node": f"gpu-{9 + 12 * number}",
                        "state": "announced" if number == 0 else "confirmed",
                        "holds": {GPU: 1 + number % 4},
                        "why": "its Binding is not confirmed yet" if number == 0 else "",
                    }
                    for number in range(6)
                ],
            },
        }


def shadow() -> Mapping[str, object]:
    """What both policies said of live decisions."""
    rule = {"plugin": "NodePriorityLabel", "reason": "node has no priority label", "nodes": 60}
    return {
        "decisions": {"the same": 482, "elsewhere": 31, "newly-pending": 2},
        "disagreements": [
            {
                "time": time() - 60 + number,
                "namespace": "default",
                "name": f"report-{number}",
                "result": "newly-pending" if number == 3 else "elsewhere",
                "before": f"memory-{6 + 12 * number}",
                "after": None if number == 3 else f"general-{12 * number}",
                "rules": [rule] if number == 3 else [],
            }
            for number in range(5)
        ],
    }
