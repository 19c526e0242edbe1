"""The pods that name a gang, on nodes and without one, by the gang's name.

Most clusters have none, and most policies do not ask. So the index is built on first use, and followed from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from berth.scheduling.objects.pod import Pod
from berth.scheduling.objects.pod_group import gang_names, names_gang
from berth.scheduling.snapshot.changes import Changes

GangName = tuple[str, str]
"""Namespace and name. A pod that names several gangs is found by the first name."""

EveryPod = Callable[[], Iterable[Pod]]


class GangPodIndex:
    """Of one snapshot. Threads may share it: two build the same."""

    def __init__(self, by_uid: Mapping[str, Pod] | None = None, every_pod: EveryPod | None = None) -> None:
        """by_uid: the pods, where they are known. every_pod: those to search, where they are not the snapshot's."""
        self._by_uid, self._every_pod = by_uid, every_pod
        self._by_name: Mapping[GangName, Mapping[str, Pod]] | None = None

    def by_name(self, every_pod: EveryPod) -> Mapping[GangName, Mapping[str, Pod]]:
        """The pods of all gangs, by UID. every_pod: those of the snapshot."""
        found = self._by_name
        if found is None:
            if self._by_uid is None:
                self._by_uid = {pod.uid: pod for pod in (self._every_pod or every_pod)() if names_gang(pod)}
            by_name: dict[GangName, dict[str, Pod]] = {}
            for uid, pod in self._by_uid.items():
                by_name.setdefault((pod.namespace, gang_names(pod)[0]), {})[uid] = pod
            found = self._by_name = by_name
        return found

    def after(self, changes: Changes) -> GangPodIndex:
        """The index of the next snapshot: this one where no such pod changed."""
        before = self._by_uid
        if before is None:
            return GangPodIndex()
        come = {pod.uid: pod for pod in changes.pods if names_gang(pod)}
        # A pod that got a node is gone from where it was, and has come.
        gone = {uid for _, uid in changes.pods_gone} | {pod.uid for pod in changes.pods}
        gone &= before.keys() - come.keys()
        if not gone and not come:
            return self
        return GangPodIndex({uid: pod for uid, pod in before.items() if uid not in gone} | come)
