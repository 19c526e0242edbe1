"""Calls for members of gangs, beside those for a plain pod on the same cluster: 20 gangs of 16 wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure, milliseconds

NODES, GANGS, SIZE = 5_000, 20, 16
TARGET_RATIO = 3.0
KINDS = {"fitting": "100m", "not-fitting": "200"}
"""The cpu of a member."""


def families() -> Iterator[Family]:
    """Families by profile, with gangs that fit and with gangs that do not."""
    for profile in ("label-priority", "full"):
        for kind in KINDS:
            yield _family(profile, kind)


def _family(profile: str, kind: str) -> Family:
    name = f"filter.{profile}.gangs.{kind}"

    def measure() -> Iterator[Figure]:
        waiting = [member(gang, index, KINDS[kind]) for gang in range(GANGS) for index in range(SIZE)]
        start = waits_on(cluster.snapshot(NODES), waiting)
        plain, asked = (
            Environment("filter", profile, pod, NODES, start, gangs=True) for pod in (cluster.plain_pod(), waiting[-1])
        )
        alone, together = milliseconds(plain.unchanged, asked.unchanged)
        yield Figure(f"{name}.unchanged.plain", alone, "ms")
        yield Figure(f"{name}.unchanged", together, "ms")
        yield Figure(f"{name}.unchanged.ratio", together / alone, "x", TARGET_RATIO)
        alone, together = milliseconds(plain.changed, asked.changed)
        yield Figure(f"{name}.changed.plain", alone, "ms")
        yield Figure(f"{name}.changed", together, "ms")
        yield Figure(f"{name}.changed.ratio", together / alone, "x")

    return Family(name, measure)


def waits_on(snapshot: Snapshot, waiting: list[Manifest]) -> Snapshot:
    """The cluster with these pods, which have no node."""
    found = [read_pod(each) for each in waiting]
    return snapshot.with_changes(Changes(pods=[each for each in found if isinstance(each, Pod)]))


def member(gang: int, index: int, cpu: str) -> Manifest:
    """A pod of a gang, by annotations."""
    manifest: dict[str, Any] = cluster.pod_manifest(cluster.PLAIN)
    name = f"gang-{gang}-{index}"
    annotations = {"berth.dev/gang": f"gang-{gang}", "berth.dev/gang-size": str(SIZE)}
    manifest["metadata"] |= {"name": name, "uid": f"uid-{name}", "annotations": annotations}
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return manifest
