"""The published objects of a node cache as they are, for commands that need more than a snapshot has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.nodecache.feed.changes import Change, Key
from berth.nodecache.feed.reader import View
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects.projection import SHARED, decode_shared_fields, part

_KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "namespaces": "Namespace",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "priorityclasses": "PriorityClass",
    "services": "Service",
    "replicationcontrollers": "ReplicationController",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
}
_POD_GROUPS = "podgroups."


class ObjectsView(View[Mapping[Key, Object]]):
    """The published objects by resource and key."""

    def empty(self) -> Mapping[Key, Object]:
        return {}

    def applied(self, state: Mapping[Key, Object], changes: Iterable[Change]) -> Mapping[Key, Object]:
        found = dict(state)
        for resource, key, obj in changes:
            if obj is None:
                found.pop((resource, key), None)
            else:
                found[resource, key] = dict(obj)
        return found


def as_dump(objects: Mapping[Key, Object]) -> Iterator[Object]:
    """Each with its kind; pods with the fields that they share with others."""
    for (resource, _), obj in objects.items():
        if resource == "pods":
            yield {"kind": "Pod", **_whole_pod(obj)}
        elif resource in _KINDS:
            yield {"kind": _KINDS[resource], **obj}
        elif resource.startswith(_POD_GROUPS):
            yield {"apiVersion": f"{resource.removeprefix(_POD_GROUPS)}/v1", "kind": "PodGroup", **obj}


def _whole_pod(obj: Object) -> Object:
    source = obj.get(SHARED)
    if not isinstance(source, str):
        return obj
    shared = decode_shared_fields(source)
    if not isinstance(shared, dict):
        return obj
    parts = dict.fromkeys([*(name for name in obj if name != SHARED), *shared])
    return {name: {**part(shared, name), **part(obj, name)} for name in parts}
