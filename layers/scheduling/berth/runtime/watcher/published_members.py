"""The members of gangs that are on nodes, as published: the proof that a gang was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import Publication
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.members import WasExempt, lives
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.objects.pod_reading import PodReader

NOBODY: frozenset[str] = frozenset()


class PublishedMembers:
    """For one leadership. `published` is called by the thread that publishes, `on_nodes` by any."""

    def __init__(self, is_member: Callable[[Object], bool], was_exempt: WasExempt) -> None:
        """is_member: whether a projected pod names a gang. Of other pods nothing is read or kept. was_exempt: of one
        that is on a node: it was bound without its gang."""
        self._is_member, self._was_exempt = is_member, was_exempt
        self._lock = Lock()
        self._is_complete = False
        self._by_pod: dict[str, tuple[GangKey, str]] = {}
        self._by_gang: dict[GangKey, frozenset[str]] = {}

    def published(self, publication: Publication) -> None:
        """Learn what has become visible; nothing before all that the leader knows is published."""
        if self._is_complete:
            self._learn(publication.changes)
        elif publication.is_complete:
            self._is_complete = True
            self._learn(Change(*key, obj) for key, obj in publication.objects.items())

    def on_nodes(self, key: GangKey) -> frozenset[str]:
        """The UIDs of the gang's members that are on nodes, without those that are being deleted or have ended."""
        with self._lock:
            return self._by_gang.get(key, NOBODY)

    def _learn(self, changes: Iterable[Change]) -> None:
        for resource, key, obj in changes:
            if resource == "pods":
                placed = None if obj is None or not self._is_member(obj) else self._placed(obj)
                with self._lock:
                    self._replace(key, placed)

    def _replace(self, pod: str, placed: tuple[GangKey, str] | None) -> None:
        before = self._by_pod.pop(pod, None)
        if before is not None:
            gang, uid = before
            left = self._by_gang[gang] - {uid}
            if left:
                self._by_gang[gang] = left
            else:
                del self._by_gang[gang]
        if placed is not None:
            gang, uid = self._by_pod[pod] = placed
            self._by_gang[gang] = self._by_gang.get(gang, NOBODY) | {uid}

    def _placed(self, obj: Object) -> tuple[GangKey, str] | None:
        """The gang and the UID of a member on a node; None for one that is on none, or is leaving it."""
        pod = PodReader().read(obj)
        if isinstance(pod, UnreadableObject) or not pod.node_name or not lives(pod):
            return None
        return None if self._was_exempt(pod) else (GangKey(pod.namespace, gang_names(pod)[0]), pod.uid)
