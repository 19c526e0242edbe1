"""The feed's changes decoded: each changed object as scheduling reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from berth.nodecache.feed.changes import Change, Key, Object
from berth.scheduling.objects import (
    Namespace,
    NodeInfo,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    UnreadableObject,
    Workload,
    read_disruption_budget,
    read_namespace,
    read_node,
    read_priority_class,
    read_workload,
)
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi, read_pod_group
from berth.scheduling.objects.pod_reading import PodReader

T = TypeVar("T")

WORKLOAD_KINDS: Mapping[str, str] = {
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
}
"""By resource."""

POD_GROUP_APIS: Mapping[str, PodGroupApi] = {f"podgroups.{api}": api for api in PodGroupApi}
"""By resource."""


class DecodedResource(Generic[T]):
    """The objects of one resource that changed.

    `found`: the objects by key; None where one is deleted or `unreadable`. An unreadable object counts as deleted:
    else its previous state would be used for ever.
    """

    def __init__(self, read: Callable[[object], T | UnreadableObject]) -> None:
        self.found: dict[str, T | None] = {}
        self.unreadable: set[str] = set()
        self._read = read

    def put(self, key: str, obj: Object | None) -> None:
        """Add a changed object; the last one of a key counts."""
        decoded_object = None if obj is None else self._read(obj)
        if isinstance(decoded_object, UnreadableObject):
            self.unreadable.add(key)
            self.found[key] = None
        else:
            self.unreadable.discard(key)
            self.found[key] = decoded_object

    def existing(self) -> Iterator[T]:
        """The objects that exist."""
        return (decoded_object for decoded_object in self.found.values() if decoded_object is not None)


class DecodedObjects:
    """Each object is decoded as it comes, so that the JSON of a large cluster is never in memory as a whole."""

    def __init__(self, changes: Iterable[Change]) -> None:
        """Raises what `changes` raises."""
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
        """The unreadable objects after these changes. before: those until now."""
        now = {(resource, key) for resource, latest in self._by_resource.items() for key in latest.unreadable}
        obj = {(resource, key) for resource, key in before if key not in self._by_resource[resource].found}
        return frozenset(now | obj) if now or len(obj) < len(before) else before
