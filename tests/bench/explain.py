"""How long `berth explain` takes on a large cluster: for a pod and for a member of a gang that fit on no node."""

from __future__ import annotations

import time
from collections.abc import Iterator

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.search import SEARCH_SECONDS
from berth_cli.explain.explanation import explain_pod
from berth_cli.explain.rules import Rules
from berth_cli.explain.target import PodState, Target
from tests.bench import cluster, gangs
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure

NODES = 5_000
TARGET_SECONDS = 10.0
"""The search may take 5 s. Before it all rules judge all nodes, and after it new nodes are judged."""

HELD = PodState("", "Pending", (), False, True, None)


def families() -> Iterator[Family]:
    """A family for each kind of pod."""
    plain, spread = cluster.plain_pod(), cluster.spread_pod()
    for manifest in (plain, spread):
        # No node has so much left.
        manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "8"
    members = [gangs.member(0, index, "8") for index in range(gangs.SIZE)]
    yield _family("plain", plain, [])
    yield _family("spread", spread, [])
    yield _family("gang", members[0], members[1:])


def _family(kind: str, manifest: Manifest, mates: list[Manifest]) -> Family:
    name = f"explain.{NODES}.{kind}"

    def measure() -> Iterator[Figure]:
        document = {"profile": "label-priority", "gangs": {"enabled": bool(mates)}}
        configuration = BerthConfiguration.model_validate(document)
        target = Target(_case(manifest, gangs.waits_on(cluster.snapshot(NODES), mates)), HELD)
        started = time.process_time()
        end = started + SEARCH_SECONDS
        found = explain_pod(target, Rules(configuration), weight=1, now=0.0, is_over=lambda: time.process_time() >= end)
        taken = time.process_time() - started
        if found.search is None:
            raise RuntimeError(f"the pod has a node: {found.fitting[:3]}")
        yield Figure(f"{name}.seconds", taken, "s", TARGET_SECONDS)
        yield Figure(f"{name}.changes", len(found.search.found), "changes")

    return Family(name, measure)


def _case(manifest: Manifest, snapshot: Snapshot) -> Case:
    pod = read_pod(manifest)
    if not isinstance(pod, Pod):
        raise TypeError(pod.cause)
    objects = {cluster.node_name(index): cluster.node_manifest(index) for index in range(NODES)}
    return Case(pod, manifest, snapshot, objects)
