"""The published objects of a node cache, for commands that need more than a snapshot contains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from berth.cluster.field_projection import Annotations, RequiredFields
from berth.nodecache.feed.changes import Change, Key
from berth.nodecache.feed.reader import View
from berth.scheduling.fields.reading import Object, part
from berth.scheduling.gangs.gang import ANNOTATIONS as GANG_ANNOTATIONS
from berth.scheduling.objects.projection import REPLACEMENT, SHARED, decode_shared_fields
from berth.scheduling.policy import Policy

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


class ReplacementsView(View[Mapping[tuple[str, str], Object]]):
    """The spec fields SELECTING of each pod on a node, by namespace and name. Omits pods whose fields the cache did not
    keep."""

    def empty(self) -> Mapping[tuple[str, str], Object]:
        return {}

    def applied(
        self, state: Mapping[tuple[str, str], Object], changes: Iterable[Change]
    ) -> Mapping[tuple[str, str], Object]:
        found = dict(state)
        for key, obj in ((key, obj) for resource, key, obj in changes if resource == "pods"):
            namespace, _, name = key.partition("/")
            found.pop((namespace, name), None)
            if obj is not None and isinstance(source := obj.get(REPLACEMENT), str):
                found[namespace, name] = _decoded(source)
        return found


@lru_cache(maxsize=4096)
def _decoded(source: str) -> Object:
    """Decode the text; pods of a controller share the result."""
    fields = decode_shared_fields(source)
    return fields if isinstance(fields, dict) else {}


def as_dump(objects: Mapping[Key, Object]) -> Iterator[Object]:
    """Yield each object with its kind, and pods with the fields that they share with others."""
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


def missing_fields(policy: Policy, kept: RequiredFields) -> Iterator[str]:
    """Describe the parts that the policy reads but that the cache did not keep."""
    required = RequiredFields.of(policy)
    if required.spreading and not kept.spreading:
        yield "Services and controllers, by which PodTopologySpread spreads pods without constraints"
    if required.images and not kept.images:
        yield "images, which ImageLocality scores"
    if required.gangs and not kept.gangs:
        yield "PodGroups, and the annotations and ages of pods, by which gangs are placed"
    for kind, names in (
        ("pods", _missing(required.pod_annotations, kept.pod_annotations) - GANG_ANNOTATIONS),
        ("nodes", _missing(required.node_annotations, kept.node_annotations)),
    ):
        if names:
            yield f"annotations of {kind}, by which resources are counted: {', '.join(sorted(names))}"


def _missing(required: Annotations, kept: Annotations) -> frozenset[str]:
    return frozenset(name for name in required.names or () if name not in kept)
