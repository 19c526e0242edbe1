"""List and watch of a resource that a cluster may serve in one of several versions, or not at all.

Where it serves none, or not to this user, the resource has no objects: the watches of the other resources go on. From
time to time the cluster is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from berth.cluster.watch.lister_watcher import ListerWatcher, ResourceExpired, ResourceNotServed
from berth.nodecache.feed.cluster import Listed, WatchEvent

NOT_SERVED = "not-served"
"""In place of a resourceVersion."""

RETRY_SECONDS = 30.0
"""As long as a watch takes on a quiet cluster, so that the data counts as current."""

_ANY_VERSION = "0"


class OptionalListerWatcher(ListerWatcher):
    """For one thread."""

    def __init__(self, versions: Sequence[ListerWatcher], wait: Callable[[float], bool]) -> None:
        """versions: of one resource, the preferred one first. wait: so many seconds; True if the watch is to end."""
        self._versions, self._wait = versions, wait
        self._served: ListerWatcher | None = None

    @property
    def resource(self) -> str:
        return self._versions[0].resource

    @property
    def malformed(self) -> int:
        return sum(each.malformed for each in self._versions)

    def list_all(self) -> Listed:
        for each in self._versions:
            try:
                listed = each.list_all()
            except ResourceNotServed:
                continue
            self._served = each
            return listed
        self._served = None
        return Listed((), NOT_SERVED)

    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        if resource_version != NOT_SERVED:
            if self._served is None:
                raise ResourceExpired
            yield from self._served.watch(resource_version)
        elif not self._wait(RETRY_SECONDS) and self._find_served(_ANY_VERSION):
            raise ResourceExpired

    def has_reached(self, resource_version: str) -> bool:
        return resource_version == NOT_SERVED or self._find_served(resource_version)

    def _find_served(self, resource_version: str) -> bool:
        """Whether a version is served, and has reached this resourceVersion."""
        self._served = None
        for each in self._versions:
            try:
                reached = each.has_reached(resource_version)
            except ResourceNotServed:
                continue
            self._served = each
            return reached
        return False
