"""Indexes of a snapshot: the label sets and affinity terms of its pods, and its gangs.

The index of gangs is built on first use and then updated: most clusters do not have gangs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec
from berth.scheduling.objects.pod_group import gang_names, names_gang
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.history import SnapshotDelta

GangName = tuple[str, str]
"""A gang's namespace and name. A pod that names several gangs is indexed by the first name."""

EveryPod = Callable[[], Iterable[Pod]]


class GangPodIndex:
    """The pods of one snapshot that name a gang. Thread-safe: two threads build equal indexes."""

    def __init__(self, by_uid: Mapping[str, Pod] | None = None, every_pod: EveryPod | None = None) -> None:
        """Create the index. by_uid: its pods, if known. every_pod: the pods to search; by default the snapshot's."""
        self._by_uid, self._every_pod = by_uid, every_pod
        self._by_name: Mapping[GangName, Mapping[str, Pod]] | None = None

    def by_name(self, every_pod: EveryPod) -> Mapping[GangName, Mapping[str, Pod]]:
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
        """Return the index of the next snapshot. It is this index if no pod that names a gang changed."""
        before = self._by_uid
        if before is None:
            return GangPodIndex()
        come = {pod.uid: pod for pod in changes.pods if names_gang(pod)}
        # A pod that was bound is in `pods_gone` as an unbound pod, and in `pods` with its node.
        gone = {uid for _, uid in changes.pods_gone} | {pod.uid for pod in changes.pods}
        gone &= before.keys() - come.keys()
        if not gone and not come:
            return self
        return GangPodIndex({uid: pod for uid, pod in before.items() if uid not in gone} | come)


MAX_GROWTH = 50_000


class PodIndex:
    """The label sets of the pods on nodes, and the specs of these pods that have affinity terms. Consecutive snapshots
    share one index. Entries are never removed: the entry of a deleted pod is harmless."""

    def __init__(self) -> None:
        self._label_sets: dict[str, set[LabelSet]] = {}
        self._specs: set[PodSpec] = set()
        self._growth = 0
        self._has_nodes = False

    @property
    def is_oversized(self) -> bool:
        return self._growth > MAX_GROWTH

    def add_nodes(self, nodes: Iterable[NodeInfo]) -> None:
        """Add the pods of these nodes. Only the first call has an effect; `record` adds later changes."""
        if not self._has_nodes:
            usages = [node.usage for node in nodes]
            self._add(set().union(*(usage.label_sets for usage in usages)))
            self._specs.update(*(usage.specs_with_affinity for usage in usages))
            self._has_nodes = True

    def record(self, delta: SnapshotDelta, now: Mapping[str, NodeInfo | None]) -> None:
        for pod_moves in delta.pod_moves:
            self._record(pod_moves.by_label_set, pod_moves.by_spec)
        for name in delta.reset:
            for node in (delta.before[name], now[name]):
                if node is not None:
                    self._record(node.usage.label_sets, node.usage.specs_with_affinity)

    def label_sets(self, namespaces: Collection[str] | None) -> Iterable[LabelSet]:
        """Yield the label sets of these namespaces; of all namespaces if `namespaces` is None."""
        # Copy to a tuple, which is atomic: other threads may add entries meanwhile.
        for namespace in tuple(self._label_sets) if namespaces is None else namespaces:
            yield from tuple(self._label_sets.get(namespace, ()))

    @property
    def specs(self) -> Iterable[PodSpec]:
        return tuple(self._specs)

    def _record(self, label_sets: Collection[LabelSet], specs: Iterable[PodSpec]) -> None:
        self._add(label_sets)
        self._specs.update(specs)
        self._growth += len(label_sets)

    def _add(self, label_sets: Iterable[LabelSet]) -> None:
        for label_set in label_sets:
            self._label_sets.setdefault(label_set.namespace, set()).add(label_set)
