"""The cluster at one moment, and the base class of the results that are cached for it.

Plugins that look at all nodes need a snapshot with assumed pods, which change their verdicts on other nodes, too. Each
such snapshot has the delta from the previous one, so that evaluations are updated and not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from types import MappingProxyType
from weakref import ref

from berth.scheduling.fields.requirements import Labels
from berth.scheduling.objects.cluster import NO_WORKLOADS, Namespace, PodDisruptionBudget, PriorityClass, Workloads
from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod
from berth.scheduling.objects.pod_group import PodGroup, PodGroupKey
from berth.scheduling.snapshot.changes import (
    AssumedPod,
    Changes,
    Nodes,
    assumed_by_node,
    change_nodes,
    move_pods,
    nominated,
    nominated_after,
)
from berth.scheduling.snapshot.history import History, PodMoves, SnapshotDelta, SnapshotId
from berth.scheduling.snapshot.indexes import GangName, GangPodIndex, PodIndex
from berth.scheduling.snapshot.node_list import NodeList, NodePositions

NO_PODS: Mapping[str, tuple[Pod, ...]] = MappingProxyType({})
NO_POD_GROUPS: Mapping[PodGroupKey, PodGroup] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Snapshot:
    """The cluster at one moment. Immutable, shared between calls, compared by identity.

    unbound: pods without a node, by UID. nominated: the unbound pods with a nominated node, by this node, without gated
    pods. assumed: pods that are being bound and are not on their nodes yet, by node. without_assumed: the same snapshot
    without assumed pods; None if it has none. placed: the same snapshot with assumed pods on their nodes, if it exists
    already. names_by_label: names of nodes by label key and value; snapshots share it until node labels change.
    """

    nodes: NodeList
    unbound: Mapping[str, Pod]
    nominated: Mapping[str, tuple[Pod, ...]]
    pods_on_unknown_nodes: Mapping[str, tuple[Pod, ...]]
    namespaces: Mapping[str, Labels]
    disruption_budgets: tuple[PodDisruptionBudget, ...]
    priority_classes: Mapping[str, PriorityClass]
    workloads: Workloads
    pod_groups: Mapping[PodGroupKey, PodGroup] = field(default_factory=lambda: NO_POD_GROUPS)
    history: History = field(default_factory=History, repr=False)
    names_by_label: dict[str, dict[str, list[str]]] = field(default_factory=dict, repr=False)
    pending_pod_index: PodIndex = field(default_factory=PodIndex, repr=False)
    gang_pods: GangPodIndex = field(default_factory=GangPodIndex, repr=False)
    assumed: Mapping[str, tuple[Pod, ...]] = field(default_factory=lambda: NO_PODS)
    without_assumed: Snapshot | None = field(default=None, repr=False)
    placed: Snapshot | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        nodes: Iterable[NodeInfo],
        pods: Iterable[Pod] = (),
        *,
        namespaces: Iterable[Namespace] = (),
        disruption_budgets: Iterable[PodDisruptionBudget] = (),
        priority_classes: Iterable[PriorityClass] = (),
        workloads: Workloads = NO_WORKLOADS,
        pod_groups: Iterable[PodGroup] = (),
    ) -> Snapshot:
        """Return the snapshot of these objects, without finished pods. If nodes have the same name, the last one
        counts."""
        by_name = {node.name: node for node in nodes}
        unbound: dict[str, Pod] = {}
        placed: dict[str, list[Pod]] = {}
        for pod in pods:
            if pod.phase and pod.finished:
                continue
            if pod.node_name:
                placed.setdefault(pod.node_name, []).append(pod)
            else:
                unbound[pod.uid] = pod
        pods_on_unknown_nodes = {name: tuple(found) for name, found in placed.items() if name not in by_name}
        for name, found in placed.items():
            if name in by_name:
                by_name[name] = by_name[name].with_pods(found)
        return cls(
            NodeList.of(by_name.values()),
            MappingProxyType(unbound),
            nominated(unbound.values()),
            MappingProxyType(pods_on_unknown_nodes),
            _labels_by_name(namespaces),
            tuple(disruption_budgets),
            _by_name(priority_classes),
            workloads,
            _by_key(pod_groups),
        )

    def with_changes(self, changes: Changes) -> Snapshot:
        """Return the next snapshot. It shares the NodeInfo of every node that did not change and kept its pods."""
        found, unbound, pods_on_unknown_nodes = Nodes(self.nodes), dict(self.unbound), dict(self.pods_on_unknown_nodes)
        reset, relabelled = change_nodes(changes, found, pods_on_unknown_nodes)
        pod_moves = move_pods(changes, found, unbound, pods_on_unknown_nodes)
        nodes = self.nodes.changed(found.changed)
        delta = SnapshotDelta(
            {name: self.nodes.get(name) for name in found.changed},
            reset,
            (PodMoves.of(pod_moves),) if pod_moves else (),
            nodes.positions_among(found.changed),
            relabelled,
        )
        pod_index = PodIndex() if self.pending_pod_index.is_oversized else self.pending_pod_index
        pod_index.record(delta, found.changed)
        return replace(
            self,
            nodes=nodes,
            unbound=MappingProxyType(unbound),
            nominated=nominated_after(self.nominated, unbound, changes),
            pods_on_unknown_nodes=MappingProxyType(pods_on_unknown_nodes),
            namespaces=self.namespaces if changes.namespaces is None else _labels_by_name(changes.namespaces),
            disruption_budgets=(
                self.disruption_budgets if changes.disruption_budgets is None else tuple(changes.disruption_budgets)
            ),
            priority_classes=(
                self.priority_classes if changes.priority_classes is None else _by_name(changes.priority_classes)
            ),
            workloads=self.workloads if changes.workloads is None else changes.workloads,
            pod_groups=self.pod_groups if changes.pod_groups is None else _by_key(changes.pod_groups),
            history=self.history.followed_by(delta, len(self.nodes)),
            names_by_label={} if relabelled else self.names_by_label,
            pending_pod_index=pod_index,
            gang_pods=self.gang_pods.after(changes),
            assumed=NO_PODS,
            without_assumed=None,
            placed=None,
        )

    def assuming(self, assumed: Iterable[AssumedPod]) -> Snapshot:
        """Return this snapshot with assumed pods. They no longer count as nominated. Results that are cached for this
        snapshot stay valid."""
        found = assumed_by_node(assumed, self.nodes, self.unbound)
        if not found:
            return self
        uids = {pod.uid for pods in found.values() for pod in pods}
        waiting = (pod for pods in self.nominated.values() for pod in pods if pod.uid not in uids)
        return replace(self, assumed=MappingProxyType(found), nominated=nominated(waiting), without_assumed=self.base)

    def with_nodes(self, nodes: Iterable[NodeInfo]) -> Snapshot:
        """Return a snapshot of only these nodes, with this snapshot's pods, assumed pods and nominated pods."""
        found = [node.with_pods_of(self.nodes[node.name]) if node.name in self.nodes else node for node in nodes]
        names = {node.name for node in found}
        alone = replace(
            Snapshot.of(found, self.unbound.values(), pod_groups=self.pod_groups.values()),
            nominated=self.nominated,
            # Members of a gang may be on other nodes.
            gang_pods=GangPodIndex(every_pod=self._every_pod),
        )
        assumed = {name: pods for name, pods in self.assumed.items() if name in names}
        return replace(alone, assumed=MappingProxyType(assumed), without_assumed=alone) if assumed else alone

    @property
    def base(self) -> Snapshot:
        """The snapshot without assumed pods. Verdicts and scores are cached for it."""
        return self if self.without_assumed is None else self.without_assumed

    def placing_assumed(self, without: str) -> Snapshot:
        """Return a snapshot with the assumed pods on their nodes. without: the UID of the pod to place, which is left
        out."""
        if not any(pod.uid == without for pods in self.assumed.values() for pod in pods):
            return self.with_assumed
        others = {name: tuple(pod for pod in pods if pod.uid != without) for name, pods in self.assumed.items()}
        return replace(self, assumed=others, placed=None).with_assumed

    @property
    def with_assumed(self) -> Snapshot:
        if self.placed is not None:
            return self.placed
        if not self.assumed:
            return self
        uids = {pod.uid for pods in self.assumed.values() for pod in pods}
        return replace(
            self,
            nodes=self.nodes.changed(
                {name: self.nodes[name].replacing_pods((), pods) for name, pods in self.assumed.items()}
            ),
            unbound=MappingProxyType({uid: pod for uid, pod in self.unbound.items() if uid not in uids}),
            history=History(),
            pending_pod_index=PodIndex(),
            assumed=NO_PODS,
            without_assumed=None,
        )

    @property
    def positions(self) -> NodePositions:
        return self.nodes.positions

    @property
    def pod_index(self) -> PodIndex:
        self.pending_pod_index.add_nodes(self.nodes.values())
        return self.pending_pod_index

    @property
    def pods_by_gang(self) -> Mapping[GangName, Mapping[str, Pod]]:
        """The pods of each gang, by gang (namespace and name) and then by UID. For an assumed pod the node is empty."""
        return self.gang_pods.by_name(self._every_pod)

    def names_in(self, key: str, value: str) -> Sequence[str]:
        """Return the names of nodes whose label `key` has this value. The names are collected once for each key."""
        by_value = self.names_by_label.get(key)
        if by_value is None:
            by_value = {}
            for name, node in zip(self.nodes, self.nodes.values(), strict=True):
                if (found := node.labels.get(key)) is not None:
                    by_value.setdefault(found, []).append(name)
            self.names_by_label[key] = by_value
        return by_value.get(value, ())

    def changed_since(self, earlier: Snapshot) -> SnapshotDelta | None:
        """Return the changes since the earlier snapshot; None if they are unknown or too many."""
        return self.history.since(earlier.history.moment)

    def _every_pod(self) -> Iterator[Pod]:
        base = self.base
        yield from base.unbound.values()
        for pods in base.pods_on_unknown_nodes.values():
            yield from pods
        for node in base.nodes.values():
            yield from node.pods


def _labels_by_name(namespaces: Iterable[Namespace]) -> Mapping[str, Labels]:
    return MappingProxyType({namespace.name: namespace.labels for namespace in namespaces})


def _by_key(pod_groups: Iterable[PodGroup]) -> Mapping[PodGroupKey, PodGroup]:
    return MappingProxyType({each.key: each for each in pod_groups})


def _by_name(classes: Iterable[PriorityClass]) -> Mapping[str, PriorityClass]:
    return MappingProxyType({each.name: each for each in classes})


class DerivedFromSnapshot:
    """The base of results for one snapshot, with a weak reference to it. A result may stay in the cache long after the
    last pod of its shape. With a strong reference, the call that replaces the result would also free the snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.moment: SnapshotId = snapshot.history.moment
        self._snapshot = ref(snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot. Raises ReferenceError if it no longer exists."""
        found = self._snapshot()
        if found is None:
            raise ReferenceError("asked about a snapshot that is gone")
        return found

    def is_later_than(self, snapshot: Snapshot) -> bool:
        """Return whether the result's snapshot is later than this snapshot; False if it no longer exists."""
        found = self._snapshot()
        return found is not None and found.changed_since(snapshot) is not None


class PlacedPods:
    """Links each snapshot that has assumed pods to its predecessor in the same warm environment. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: Snapshot | None = None

    def follow(self, snapshot: Snapshot) -> Snapshot:
        """Return this snapshot. If possible, its `with_assumed` has the delta from the last call's `with_assumed`."""
        with self._lock:
            last = self._last
            if last is None and not snapshot.assumed:
                return snapshot
            found = replace(snapshot, placed=snapshot.with_assumed if last is None else _next(last, snapshot))
            if last is None or last.changed_since(snapshot.base) is None or snapshot.history is last.history:
                # Keep the latest snapshot: a call that began earlier may have an older one.
                self._last = found
        return found


def _next(last: Snapshot, snapshot: Snapshot) -> Snapshot:
    before, after, delta = last.with_assumed, snapshot.with_assumed, snapshot.changed_since(last.base)
    if delta is None:
        return after
    now = {name: after.nodes.get(name) for name in {*delta.before, *last.assumed, *snapshot.assumed}}
    moves = [*_moves(before, now, delta.reset)]
    change = SnapshotDelta(
        {name: before.nodes.get(name) for name in now},
        delta.reset,
        (PodMoves.of(moves),) if moves else (),
        after.nodes.positions_among(now),
        delta.relabelled,
    )
    index = PodIndex() if before.pending_pod_index.is_oversized else before.pending_pod_index
    index.record(change, now)
    history = before.history.followed_by(change, len(after.nodes))
    return replace(after, history=history, pending_pod_index=index)


def _moves(before: Snapshot, now: dict[str, NodeInfo | None], reset: Iterable[str]) -> Iterator[tuple[Pod, str]]:
    """Yield the pods that were added, removed or changed on nodes, in their old and their new state."""
    for name in now.keys() - reset:
        earlier, later = _by_uid(before.nodes.get(name)), _by_uid(now[name])
        for uid in earlier.keys() | later.keys():
            if earlier.get(uid) != later.get(uid):
                yield from ((pod, name) for pod in (earlier.get(uid), later.get(uid)) if pod is not None)


def _by_uid(node: NodeInfo | None) -> dict[str, Pod]:
    return {} if node is None else {pod.uid: pod for pod in node.pods}
