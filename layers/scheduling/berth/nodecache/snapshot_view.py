"""Builds the scheduling Snapshot from the feed's changes.

Guarantees:
- A state is never changed: a call that uses an older state continues with it.
- The same objects give the same state, however their changes were batched.
- A changed pod costs the work for that pod and its node. A changed node costs the work for that node. Both cost copies
  of dictionaries.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from berth.garbage_collection import collection_paused
from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.reader import View
from berth.scheduling.objects import (
    Namespace,
    NodeInfo,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    UnreadableObject,
    Workload,
    Workloads,
    read_disruption_budget,
    read_namespace,
    read_node,
    read_priority_class,
    read_workload,
)
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi, PodGroupKey, read_pod_group
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

D = TypeVar("D")

WORKLOAD_KINDS: Mapping[str, str] = {
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
}
"""Maps a resource to its kind."""

POD_GROUP_APIS: Mapping[str, PodGroupApi] = {f"podgroups.{api}": api for api in PodGroupApi}
"""Maps a resource to its API."""


class DecodedResource(Generic[D]):
    """The changed objects of one resource. found: the objects by key; None for a deleted or an unreadable object,
    because otherwise the previous state of an unreadable object would be used forever."""

    def __init__(self, read: Callable[[object], D | UnreadableObject]) -> None:
        self.found: dict[str, D | None] = {}
        self.unreadable: set[str] = set()
        self._read = read

    def put(self, key: str, obj: Object | None) -> None:
        decoded_object = None if obj is None else self._read(obj)
        if isinstance(decoded_object, UnreadableObject):
            self.unreadable.add(key)
            self.found[key] = None
        else:
            self.unreadable.discard(key)
            self.found[key] = decoded_object

    def existing(self) -> Iterator[D]:
        return (decoded_object for decoded_object in self.found.values() if decoded_object is not None)


class DecodedObjects:
    """Decodes objects one by one, so that the JSON of a large cluster is never in memory as a whole."""

    def __init__(self, changes: Iterable[Change]) -> None:
        """Decode the changes. Raises the exceptions of the iterator `changes`."""
        self.nodes: DecodedResource[NodeInfo] = DecodedResource(read_node)
        self.pods: DecodedResource[Pod] = DecodedResource(PodReader().read)
        self.namespaces: DecodedResource[Namespace] = DecodedResource(read_namespace)
        self.disruption_budgets: DecodedResource[PodDisruptionBudget] = DecodedResource(read_disruption_budget)
        self.priority_classes: DecodedResource[PriorityClass] = DecodedResource(read_priority_class)
        self.workloads: dict[str, DecodedResource[Workload]] = {
            resource: DecodedResource(partial(read_workload, kind=kind)) for resource, kind in WORKLOAD_KINDS.items()
        }
        self.pod_groups: dict[str, DecodedResource[PodGroup]] = {
            resource: DecodedResource(partial(read_pod_group, api=api)) for resource, api in POD_GROUP_APIS.items()
        }
        self._by_resource: dict[str, DecodedResource[Any]] = {
            "nodes": self.nodes,
            "pods": self.pods,
            "namespaces": self.namespaces,
            "poddisruptionbudgets": self.disruption_budgets,
            "priorityclasses": self.priority_classes,
            **self.workloads,
            **self.pod_groups,
        }
        for resource, key, obj in changes:
            latest = self._by_resource.get(resource)
            if latest is not None:  # a later release may publish more resources
                latest.put(key, obj)

    def unreadable_after(self, before: frozenset[Key]) -> frozenset[Key]:
        """Return the unreadable objects after these changes. before: the unreadable objects before these changes."""
        now = {(resource, key) for resource, latest in self._by_resource.items() for key in latest.unreadable}
        obj = {(resource, key) for resource, key in before if key not in self._by_resource[resource].found}
        return frozenset(now | obj) if now or len(obj) < len(before) else before


V = TypeVar("V")

_SHARE = 32
_LEAST = 64


class LayeredMap(Generic[V]):
    """A large dictionary and a small dictionary that overrides it; None marks a deleted entry. A change copies only the
    small dictionary. Once this exceeds 64 entries and a 32nd of the large dictionary, both are merged."""

    __slots__ = ("_base", "_over")

    def __init__(self, base: dict[str, V], over: dict[str, V | None] | None = None) -> None:
        """Create the map, which then owns `base`."""
        self._base = base
        self._over: dict[str, V | None] = {} if over is None else over

    def get(self, key: str) -> V | None:
        return self._over[key] if key in self._over else self._base.get(key)

    def changed(self, changes: dict[str, V | None]) -> LayeredMap[V]:
        over = self._over | changes
        if len(over) <= max(_LEAST, len(self._base) // _SHARE):
            return LayeredMap(self._base, over)
        base: dict[str, V] = dict(self._base)
        for key, value in over.items():
            if value is None:
                base.pop(key, None)
            else:
                base[key] = value
        return LayeredMap(base)


T = TypeVar("T", Namespace, PodDisruptionBudget, PriorityClass)


@dataclass(frozen=True, slots=True, eq=False)
class CachedCluster:
    """The published cluster. unreadable: the resources and keys of malformed objects, which the snapshot omits.
    pods, namespaces, disruption_budgets: the objects by key, so that a later change can replace them."""

    snapshot: Snapshot
    unreadable: frozenset[Key] = frozenset()
    pods: LayeredMap[Pod] = field(default_factory=lambda: LayeredMap[Pod]({}), repr=False)
    namespaces: Mapping[str, Namespace] = field(default_factory=dict, repr=False)
    disruption_budgets: Mapping[str, PodDisruptionBudget] = field(default_factory=dict, repr=False)


_FREEZE_THRESHOLD = 50_000
"""A new state is excluded from garbage collection if more objects than this are tracked."""

_EMPTY = CachedCluster(Snapshot.of(()))


class SnapshotView(View[CachedCluster]):
    """Decodes changes into snapshots. Stateless; may be shared between threads."""

    def empty(self) -> CachedCluster:
        return _EMPTY

    def applied(self, state: CachedCluster, changes: Iterable[Change]) -> CachedCluster:
        if state is _EMPTY:
            # States do not contain reference cycles, and collections would take as long as creating the state.
            with collection_paused():
                initial = _initial_state(DecodedObjects(changes))
                if gc.get_count()[0] > _FREEZE_THRESHOLD:
                    # Scanning many objects in later collections would delay some calls by a sixth of a second.
                    gc.freeze()
            return initial
        return _changed(state, DecodedObjects(changes))


def _initial_state(found: DecodedObjects) -> CachedCluster:
    """Build the first state at once: several times faster than by changing an empty state."""
    pods = {key: pod for key, pod in _active_pods(found.pods) if pod is not None}
    namespaces = _merged({}, found.namespaces)
    disruption_budgets = _merged({}, found.disruption_budgets)
    priority_classes = _merged({}, found.priority_classes)
    snapshot = Snapshot.of(
        found.nodes.existing(),
        pods.values(),
        namespaces=namespaces.values(),
        disruption_budgets=disruption_budgets.values(),
        priority_classes=priority_classes.values(),
        workloads=_merged_workloads(Workloads(), found.workloads),
        pod_groups=_merged_pod_groups({}, found.pod_groups).values(),
    )
    unreadable = found.unreadable_after(frozenset())
    return CachedCluster(snapshot, unreadable, LayeredMap(pods), namespaces, disruption_budgets)


def _changed(state: CachedCluster, found: DecodedObjects) -> CachedCluster:
    before = state.snapshot
    pods = {key: pod for key, pod in _active_pods(found.pods) if pod != state.pods.get(key)}
    namespaces = _merged(state.namespaces, found.namespaces)
    disruption_budgets = _merged(state.disruption_budgets, found.disruption_budgets)
    priority_classes = _merged(before.priority_classes, found.priority_classes)
    workloads = _merged_workloads(before.workloads, found.workloads)
    pod_groups = _merged_pod_groups(before.pod_groups, found.pod_groups)
    changes = Changes(
        nodes=tuple(node for node in found.nodes.existing() if _is_new(node, before)),
        nodes_gone=tuple(key for key, node in found.nodes.found.items() if node is None and key in before.nodes),
        pods=tuple(pod for pod in pods.values() if pod is not None),
        pods_gone=tuple(_removed_pods(state.pods, pods)),
        namespaces=None if namespaces is state.namespaces else tuple(namespaces.values()),
        disruption_budgets=(
            None if disruption_budgets is state.disruption_budgets else tuple(disruption_budgets.values())
        ),
        priority_classes=None if priority_classes is before.priority_classes else tuple(priority_classes.values()),
        workloads=None if workloads is before.workloads else workloads,
        pod_groups=None if pod_groups is before.pod_groups else tuple(pod_groups.values()),
    )
    # Keep the snapshot if no decision depends on the change: then everything that is cached for it stays valid.
    return replace(
        state,
        snapshot=before if changes == Changes() else before.with_changes(changes),
        unreadable=found.unreadable_after(state.unreadable),
        pods=state.pods.changed(pods) if pods else state.pods,
        namespaces=namespaces,
        disruption_budgets=disruption_budgets,
    )


def _active_pods(pods: DecodedResource[Pod]) -> Iterator[tuple[str, Pod | None]]:
    """Yield the pods by key; None for deleted and for finished pods, which do not use resources."""
    for key, pod in pods.found.items():
        if pod is None or pod.finished:
            yield key, None
        else:
            # Only a pod in a dump that was written by hand can lack a UID.
            yield key, pod if pod.uid else replace(pod, uid=key)


def _removed_pods(before: LayeredMap[Pod], pods: Mapping[str, Pod | None]) -> Iterator[tuple[str, str]]:
    """Yield the node and the UID of each pod that was deleted, moved, or replaced by another pod of its name."""
    for key, pod in pods.items():
        known = before.get(key)
        if known is not None and (pod is None or (pod.uid, pod.node_name) != (known.uid, known.node_name)):
            yield known.node_name, known.uid


def _is_new(node: NodeInfo, before: Snapshot) -> bool:
    known = before.nodes.get(node.name)
    return known is None or node.with_pods_of(known) != known


def _merged(before: Mapping[str, T], latest: DecodedResource[T]) -> Mapping[str, T]:
    """Merge by key, and sort. Returns `before` itself if nothing changed."""
    found = dict(before)
    for key, decoded_object in latest.found.items():
        if decoded_object is None:
            found.pop(key, None)
        else:
            found[key] = decoded_object
    return before if found == before else {key: found[key] for key in sorted(found)}


def _merged_workloads(before: Workloads, by_resource: Mapping[str, DecodedResource[Workload]]) -> Workloads:
    come: list[Workload] = []
    gone: list[tuple[str, str, str]] = []
    for resource, latest in by_resource.items():
        come += latest.existing()
        for key, decoded_object in latest.found.items():
            if decoded_object is None:
                namespace, _, name = key.rpartition("/")
                gone.append((WORKLOAD_KINDS[resource], namespace, name))
    if not come and not gone:
        return before
    after = before.changed(come, gone)
    return before if after == before else after


def _merged_pod_groups(
    before: Mapping[PodGroupKey, PodGroup], by_resource: Mapping[str, DecodedResource[PodGroup]]
) -> Mapping[PodGroupKey, PodGroup]:
    found = dict(before)
    for resource, latest in by_resource.items():
        for key, decoded_object in latest.found.items():
            namespace, _, name = key.rpartition("/")
            known = POD_GROUP_APIS[resource], namespace, name
            if decoded_object is None:
                found.pop(known, None)
            else:
                found[known] = decoded_object
    return before if found == before else found
