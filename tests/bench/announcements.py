"""Calls under rules about other pods: with one more pod announced each time, of ten that the cache does not show yet.

The pod has anti-affinity and spread constraints, and so have the announced pods.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Literal

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.assumed_pods import AssumedPod
from berth.scheduling.snapshot.placed_pods import PlacedPods
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.figures import Family, Figure, Timed, milliseconds

NODES = 5_000
OPEN = 10
PROFILE = "full"


def families() -> Iterator[Family]:
    """Of bind, which judges one node, and of the verbs that judge all of them."""
    yield Family(f"bind.{PROFILE}.announced", _bind)
    yield _family("filter")
    yield _family("prioritize")


def announced(snapshot: Snapshot) -> Iterator[Snapshot]:
    """The snapshot with the pods that are being bound: each time one more, and the oldest of ten no longer."""
    placed, under_way, names = PlacedPods(), deque[AssumedPod](maxlen=OPEN), list(snapshot.nodes)
    for number in count():
        # 1,009 is a prime: the nodes are far from each other.
        node, manifest = names[number * 1_009 % len(names)], cluster.spread_pod()
        manifest["metadata"] |= {"name": f"announced-{number}", "uid": f"uid-announced-{number}"}
        manifest["spec"]["nodeName"] = node
        pod = _read(manifest)
        under_way.append(AssumedPod(pod.namespace, pod.name, pod.uid, node, {}, pod))
        yield placed.follow(snapshot.assuming(under_way))


def _family(verb: Literal["filter", "prioritize"]) -> Family:
    name = f"{verb}.{PROFILE}.announced"

    def measure() -> Iterator[Figure]:
        environment = Environment(verb, PROFILE, cluster.spread_pod(), NODES, changes=announced)
        environment.change()

        def changed() -> None:
            environment.change()
            environment.answer()

        another, none = milliseconds(Timed(changed), environment.unchanged)
        yield Figure(f"{name}.another", another, "ms")
        yield Figure(f"{name}.unchanged", none, "ms")

    return Family(name, measure)


def _bind() -> Iterator[Figure]:
    """Bind's judgement alone: its calls of the API server and of the tables are waits, and no work."""
    pod = _read(cluster.spread_pod())
    snapshots = announced(cluster.snapshot(NODES))
    policy, node = BerthConfiguration(profile=PROFILE).policy(), cluster.node_name(1)
    policy.rejects_bind(pod, node, next(snapshots))

    def another() -> None:
        policy.rejects_bind(pod, node, next(snapshots))

    def first() -> None:
        BerthConfiguration(profile=PROFILE).policy().rejects_bind(pod, node, next(snapshots))

    taken, of_its_shape = milliseconds(Timed(another), Timed(first))
    yield Figure(f"bind.{PROFILE}.announced.another", taken, "ms")
    yield Figure(f"bind.{PROFILE}.announced.first", of_its_shape, "ms")


def _read(manifest: cluster.Manifest) -> Pod:
    found = read_pod(manifest)
    assert isinstance(found, Pod)
    return found
