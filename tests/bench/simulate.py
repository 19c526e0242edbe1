"""The number of pods a second that `berth simulate` places on a large cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.simulate.scheduler.control_loop import ControlLoop
from tests.bench.figures import Family, Figure

NODES, PODS, SHAPES = 5_000, 10_000, 50
WARM_UP = 200
TARGET_PODS_A_SECOND = 300.0


def families() -> Iterator[Family]:
    """One family."""
    yield Family("simulate", figures)


def figures() -> Iterator[Figure]:
    """The process's own time: other processes do not count."""
    loop = ControlLoop(BerthConfiguration(profile=FULL).build_profile(FULL), Snapshot.of(map(_node, range(NODES))))
    outcomes = loop.run(map(_pod, range(PODS)))
    # The first pod of each shape evaluates every node.
    placed = sum(bool(each.node) for each in islice(outcomes, WARM_UP))
    started = time.process_time()
    placed += sum(bool(each.node) for each in outcomes)
    taken = time.process_time() - started
    if placed < PODS:
        raise RuntimeError(f"only {placed} of {PODS} pods were placed")
    rate = (PODS - WARM_UP) / taken
    yield Figure(f"simulate.{NODES}x{PODS}.pods_per_second", rate, "1/s", TARGET_PODS_A_SECOND)


def _node(index: int) -> NodeInfo:
    name = f"ip-10-{index // 256}-{index % 256}-17.eu-central-1.compute.internal"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"eu-central-1{'abc'[index % 3]}"}
    allocatable = {"cpu": "15890m", "memory": "62346112Ki", "pods": "234"}
    read = read_node({"metadata": {"name": name, "labels": labels}, "status": {"allocatable": allocatable}})
    if not isinstance(read, NodeInfo):
        raise TypeError(read.cause)
    return read


def _pod(index: int) -> Pod:
    shape = index % SHAPES
    requests = {"cpu": f"{100 + 10 * shape}m", "memory": f"{128 + shape}Mi"}
    read = read_pod(
        {
            "metadata": {
                "name": f"app-{shape}-{index}",
                "namespace": "default",
                "uid": f"uid-{index}",
                "labels": {"app": f"app-{shape}"},
            },
            "spec": {"containers": [{"name": "app", "image": f"app-{shape}:1", "resources": {"requests": requests}}]},
        }
    )
    if not isinstance(read, Pod):
        raise TypeError(read.cause)
    return read
