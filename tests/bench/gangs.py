"""Calls for members of waiting gangs after 1 % of the nodes changed, compared with a plain pod's call.

Every call plans all gangs again. The members of all gangs have the same shape, as pods of one template do.
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
from tests.bench.figures import Family, Figure, beside_floor

NODES, SIZE, TARGET_RATIO = 5_000, 16, 3.0
WARM_UP = 40
"""Number of changes before the measurement, in which the best nodes move from zone to zone."""


def families() -> Iterator[Family]:
    """Yield families by profile and number of waiting gangs; the floor is the plain pod's call."""
    for profile in ("label-priority", "full"):
        for gangs in (1, 20):
            yield _family(profile, gangs)


def _family(profile: str, gangs: int) -> Family:
    name = f"gang.{profile}.{gangs}x{SIZE}.changed.{NODES}"

    def measure() -> Iterator[Figure]:
        plain, member = (
            _WithGangs(profile, pod, gangs) for pod in (cluster.plain_pod(), _member(gangs - 1, SIZE // 2))
        )
        for _ in range(WARM_UP):
            for environment in (plain, member):
                environment.change()
                environment.answer()
        # As in a function, which freezes its objects once the snapshot is loaded.
        gc.freeze()
        yield from beside_floor(name, plain.changed, member.changed, TARGET_RATIO)
        gc.unfreeze()

    return Family(name, measure)


class _WithGangs(Environment):
    """A warm environment with gangs that wait."""

    def __init__(self, profile: str, pod: Manifest, gangs: int) -> None:
        super().__init__("filter", profile, pod, NODES)
        waiting = [_pod(_member(gang, index)) for gang in range(gangs) for index in range(SIZE)]
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
