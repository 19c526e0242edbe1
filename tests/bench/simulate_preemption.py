"""The time of `berth simulate` for a thousand pods that preempt others on a full cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.objects.cluster import read_objects
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.simulate.queue import build_queue
from berth_cli.simulate.report import Summary, document
from berth_cli.simulate.scheduler.control_loop import ControlLoop
from berth_cli.simulate.scheduler.extender import PolicyExtender
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure

NODES, PODS_PER_NODE, PREEMPTIONS, SHAPES, APPS = 1_000, 30, 1_000, 20, 50
TARGET_SECONDS = 60.0


def families() -> Iterator[Family]:
    """By Berth's profile: `full` is the scheduler by itself."""
    for profile in ("full", "label-priority"):
        yield _family(profile)


def _family(profile: str) -> Family:
    name = f"simulate.preempt.{profile}.{NODES}x{PREEMPTIONS}"
    return Family(name, lambda: _figures(name, profile))


def _figures(name: str, profile: str) -> Iterator[Figure]:
    """The process's own time, with all that `-o json` prints: a reason for every node and pod."""
    configuration = BerthConfiguration(profile=profile)
    loop = ControlLoop(configuration.build_profile(FULL), _cluster(), PolicyExtender(configuration.policy()))
    found = read_objects(
        _pod(f"urgent-{index}", index, 1000 + index % 3, f"{1000 + 100 * (index % SHAPES)}m")
        for index in range(PREEMPTIONS)
    )
    taken = build_queue(found.pods, ())
    summary = Summary(taken, {})
    started = time.process_time()
    printed = sum(map(len, document(summary.count(loop.run(taken.pods)), summary, explain_placed=False)))
    seconds = time.process_time() - started
    if summary.placed < PREEMPTIONS or summary.evicted < PREEMPTIONS or not printed:
        raise RuntimeError(f"{summary.placed} of {PREEMPTIONS} pods were placed, {summary.evicted} evicted")
    yield Figure(f"{name}.seconds", seconds, "s", TARGET_SECONDS)


def _cluster() -> Snapshot:
    nodes = [_node(index) for index in range(NODES)]
    pods = [
        _pod(f"app-{index}-{number}", 31 * index + number, (7 * number + index) % 10, "500m", node["metadata"]["name"])
        for index, node in enumerate(nodes)
        for number in range(PODS_PER_NODE)
    ]
    found = read_objects([*nodes, *pods, *map(_budget, range(APPS))])
    return Snapshot.of(found.nodes, found.pods, disruption_budgets=found.disruption_budgets)


def _node(index: int) -> Manifest:
    name = f"ip-10-{index // 256}-{index % 256}-17.eu-central-1.compute.internal"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"eu-central-1{'abc'[index % 3]}",
        "priority.lixueduan.com": "10",
    }
    allocatable = {"cpu": "15", "memory": "62346112Ki", "pods": "234"}
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}}


def _pod(name: str, number: int, priority: int, cpu: str, node: str = "") -> Manifest:
    """A pod; thirty of them fill a node."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"app": f"app-{number % APPS}"},
        },
        "spec": {
            "priority": priority,
            "schedulerName": "default-scheduler",
            "nodeName": node,
            "containers": [{"name": "app", "resources": {"requests": {"cpu": cpu, "memory": "512Mi"}}}],
        },
        "status": {"startTime": f"2026-01-{1 + number % 28:02}T00:00:00Z"},
    }


def _budget(number: int) -> Manifest:
    """A budget: one in five applications allows no disruption, the others allow all evictions."""
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"app-{number}", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": f"app-{number}"}}},
        "status": {"disruptionsAllowed": 1000 if number % 5 else 0},
    }
