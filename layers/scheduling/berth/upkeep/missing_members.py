"""Finds waiting gangs that lack members, by the annotations of pods."""

from __future__ import annotations

from berth.nodecache.feed.changes import Object
from berth.scheduling.gangs.gang import SIZE, GangKey
from berth.scheduling.gangs.members import waits
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import GANG_ANNOTATION, names_pod_group
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import is_member


class MissingMembers:
    """The published members of gangs that annotations describe.

    Until enough members wait, no other change can place the gang, so its members are not woken: each failed attempt
    prolongs the back-off of its pod, up to podMaxBackoffSeconds, and the gang then waits for the longest back-off.
    """

    def __init__(self) -> None:
        self._gangs: dict[GangKey, dict[str, Pod]] = {}
        self._gang_of: dict[str, GangKey] = {}

    def put(self, key: str, obj: Object | None) -> None:
        """Replace a projected pod. key: `namespace/name`. obj: None if it was deleted."""
        gang = self._gang_of.pop(key, None)
        if gang is not None:
            del self._gangs[gang][key]
            if not self._gangs[gang]:
                del self._gangs[gang]
        pod = PodReader().read(obj) if obj is not None and is_member(obj) else None
        if isinstance(pod, Pod) and not names_pod_group(pod):
            gang = self._gang_of[key] = GangKey(pod.namespace, pod.annotations[GANG_ANNOTATION])
            self._gangs.setdefault(gang, {})[key] = pod

    def lacks(self, key: str) -> bool:
        """Return whether the pod's gang certainly lacks members. It is not certain if members are on nodes, which may
        have been placed with the gang, or if members name different gang sizes, which may be corrected."""
        members = self._gangs[self._gang_of[key]].values() if key in self._gang_of else ()
        sizes = {pod.annotations.get(SIZE, "") for pod in members}
        size = sizes.pop() if len(sizes) == 1 and not any(pod.node_name for pod in members) else ""
        return size.isdecimal() and sum(map(waits, members)) < int(size[:9])
