"""Calls for members of waiting gangs after 1 % of the nodes changed.

Every call plans all gangs anew. The members of all gangs have one shape, as those of one template.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.changes import Changes
from tests.bench import cluster
from tests.bench.calls import Environment
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure, milliseconds

NODES, GANGS, SIZE = 5_000, 20, 16
WARM_UP = 40
"""Changes before the measurement: the best nodes move from zone to zone."""


def families() -> Iterator[Family]:
    for profile in ("label-priority", "full"):
        yield _family(profile)


def _family(profile: str) -> Family:
    name = f"gang.{profile}.{GANGS}x{SIZE}.changed.{NODES}"

    def measure() -> Iterator[Figure]:
        environment = _WithGangs(profile)
        for _ in range(WARM_UP):
            environment.change()
            environment.answer()
        # As in a function, whose snapshot is frozen once it is loaded.
        gc.freeze()
        yield Figure(name, milliseconds(environment.answer, environment.change), "ms")
        gc.unfreeze()

    return Family(name, measure)


class _WithGangs(Environment):
    """A warm environment with gangs that wait."""

    def __init__(self, profile: str) -> None:
        super().__init__("filter", profile, _member(GANGS - 1, SIZE // 2), NODES)
        waiting = [_pod(_member(gang, index)) for gang in range(GANGS) for index in range(SIZE)]
        self._snapshot = self._snapshot.with_changes(Changes(pods=waiting))
        self._changes = cluster.changes(self._snapshot)

    def configuration(self) -> BerthConfiguration:
        return BerthConfiguration.model_validate({"profile": self._profile, "gangs": {"enabled": True}})


def _member(gang: int, index: int) -> Manifest:
    manifest = cluster.plain_pod()
    manifest["metadata"] |= {
        "name": f"job-{gang}-{index}",
        "uid": f"uid-job-{gang}-{index}",
        "creationTimestamp": f"2026-10-01T10:{gang:02d}:00Z",
        "annotations": {"berth.dev/gang": f"job-{gang}", "berth.dev/gang-size": str(SIZE)},
    }
    return manifest


def _pod(manifest: Manifest) -> Pod:
    found = read_pod(manifest)
    assert isinstance(found, Pod)
    return found
