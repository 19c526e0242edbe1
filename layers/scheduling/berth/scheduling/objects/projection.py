"""Selects the fields of API objects that scheduling needs. Memory and the cache do not contain the other fields."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from sys import intern

import orjson

from berth.scheduling.fields.reading import Object, condition_in, part
from berth.scheduling.fields.resources import is_extended
from berth.scheduling.objects.pod_group import GANG_ANNOTATION, POD_GROUP_LABELS


def select_fields(obj: Object, names: Iterable[str]) -> Object:
    """Return the fields with these names that exist; null counts as absent."""
    return {name: obj[name] for name in names if obj.get(name) is not None}


def without_empty_parts(parts: Mapping[str, object], obj: Object) -> Object:
    """Return the parts that are not empty. Keep a part of the wrong type, so that the parser reports it."""
    found = {name: kept if isinstance(obj.get(name), dict | None) else obj[name] for name, kept in parts.items()}
    return {name: kept for name, kept in found.items() if kept != {}}


def trimmed_items(value: object, trim: Callable[[Object], Object]) -> object:
    if not isinstance(value, list):
        return value
    return [trim(item) if isinstance(item, dict) else item for item in value]


def select_annotations(metadata: Object, names: Container[str]) -> Object:
    """Return the annotations with these names, under `annotations`; empty if the object does not have any of them."""
    found = metadata.get("annotations") if names else None
    kept = {name: found[name] for name in found if name in names} if isinstance(found, dict) else {}
    return {"annotations": kept} if kept else {}


def select_condition(status: Object, kind: str) -> Object:
    condition = condition_in(status, kind)
    return {"conditions": [select_fields(condition, ("type", "status", "reason"))]} if condition else {}


_PORT = ("hostIP", "hostPort", "protocol")


def project_container(obj: Object, images: bool) -> Object:
    """Keep the name, restart policy, requests and host ports of a container. images: also keep its image."""
    found = select_fields(obj, ("name", "restartPolicy", "image") if images else ("name", "restartPolicy"))
    if (resources := obj.get("resources")) is not None:
        found["resources"] = project_requests(resources)
    if (ports := obj.get("ports")) is not None:
        found["ports"] = _project_ports(ports)
    return {name: value for name, value in found.items() if value not in ({}, [])}


def project_requests(resources: object) -> object:
    """Keep the requests of a container or a pod. As in the API server, limits of extended resources replace missing
    requests."""
    if not isinstance(resources, dict):
        return resources
    kept = select_fields(resources, ("requests",))
    requests, limits = kept.get("requests", {}), resources.get("limits")
    if isinstance(requests, dict) and isinstance(limits, dict):
        missing = {
            name: amount
            for name, amount in limits.items()
            if name not in requests and isinstance(name, str) and is_extended(name)
        }
        if missing:
            kept["requests"] = requests | missing
    return kept


def _project_ports(ports: object) -> object:
    if not isinstance(ports, list):
        return ports
    return [
        select_fields(port, _PORT) if isinstance(port, dict) else port
        for port in ports
        if not isinstance(port, dict) or port.get("hostPort")
    ]


CLAIMS = ("persistentVolumeClaim", "ephemeral")
"""The volume sources of claims, which Berth's plugins do not check."""


def _project_volume(volume: Object) -> Object:
    """Keep an image volume. Keep only the kind of a claim, so that explanations report that claims are not checked."""
    if volume.get("image") is not None:
        return volume
    return {source: {} for source in CLAIMS if source in volume}


_STATUS = ("resources", "allocatedResources")


def project_resize(spec: Object, status: Object) -> Object:
    """Keep the status's resources that may differ from the spec's; if any, also whether a resize is pending."""
    found: Object = {}
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        statuses = status.get(field)
        if statuses is None:
            continue
        asked = _asked_by_name(spec.get(containers))
        kept = [item for item in statuses if _differs(item, asked)] if isinstance(statuses, list) else statuses
        if kept:
            found[field] = trimmed_items(kept, lambda item: select_fields(item, ("name", *_STATUS)))
    if spec.get("resources") is not None and status.get("resources") is not None:
        found |= select_fields(status, _STATUS)
    return found | select_condition(status, "PodResizePending") if found else found


def _asked_by_name(containers: object) -> dict[object, object]:
    if not isinstance(containers, list):
        return {}
    return {
        item["name"]: (item.get("resources") or {}).get("requests") or {}
        for item in containers
        if isinstance(item, dict)
        and isinstance(item.get("name"), str)
        and isinstance(item.get("resources"), dict | None)
    }


def _differs(item: object, asked: dict[object, object]) -> bool:
    if not isinstance(item, dict):
        return True
    resources = item.get("resources")
    if resources is None:
        return False
    if not isinstance(resources, dict):
        return True
    name = item.get("name")
    requests = asked.get(name) if isinstance(name, str) else None
    if requests is None:
        return True
    return (resources.get("requests") or {}) != requests or item.get("allocatedResources") not in (None, requests)


_ALWAYS = ("schedulerName", "priority", "overhead", "schedulingGroup")
_TO_PLACE = (
    "priorityClassName",
    "preemptionPolicy",
    "nodeSelector",
    "tolerations",
    "topologySpreadConstraints",
    "schedulingGates",
)
_AFFINITY_OF_PLACED = ("podAffinity", "podAntiAffinity")
_OWNER = ("apiVersion", "kind", "name")


READ_METADATA = (
    "name",
    "namespace",
    "uid",
    "labels",
    "annotations",
    "ownerReferences",
    "deletionTimestamp",
    "creationTimestamp",
)
READ_SPEC = (*_ALWAYS, *_TO_PLACE, "nodeName", "affinity", "resources", "resourceClaims")
READ_CONTAINER = ("name", "restartPolicy", "image", "resources", "ports")
READ_VOLUME = ("name", "image", *CLAIMS)
READ_STATUS = ("phase", "startTime", "nominatedNodeName", "conditions")
"""The status fields that are read for a pod to place, besides RESIZE_STATUS."""

RESIZE_STATUS = ("containerStatuses", "initContainerStatuses", *_STATUS)


def individual_fields(obj: Object, annotations: Container[str] = ()) -> Object:
    """Keep the fields in which a controller's pods differ: identity, labels, the given annotations, node and status."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    return {
        "metadata": select_fields(metadata, ("name", "namespace", "uid", "labels", "deletionTimestamp"))
        | select_annotations(metadata, annotations),
        "spec": select_fields(spec, ("nodeName",)),
        "status": select_fields(status, ("phase", "startTime", "nominatedNodeName"))
        | select_condition(status, "DisruptionTarget"),
    }


def shared_fields(obj: Object, *, placed: bool, images: bool = True) -> Object:
    """Keep the fields that a controller's pods share; for a pod on a node, only those that affect the placement of
    other pods. images: also keep the fields that only ImageLocality and explanations read."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    images = images and not placed
    kept = select_fields(spec, _ALWAYS if placed else _ALWAYS + _TO_PLACE)
    for field in ("containers", "initContainers"):
        if (containers := spec.get(field)) is not None:
            kept[field] = trimmed_items(containers, lambda container: project_container(container, images))
    if (affinity := spec.get("affinity")) is not None:
        chosen = select_fields(affinity, _AFFINITY_OF_PLACED) if placed and isinstance(affinity, dict) else affinity
        if chosen != {}:
            kept["affinity"] = chosen
    if (resources := spec.get("resources")) is not None:
        kept["resources"] = project_requests(resources)
    if images and isinstance(volumes := spec.get("volumes"), list):
        projected = [_project_volume(each) for each in volumes if isinstance(each, dict)]
        if any(projected):
            kept["volumes"] = [each for each in projected if each]
    if images and spec.get("resourceClaims"):
        kept["resourceClaims"] = [{}]
    found: Object = {"metadata": select_fields(metadata, ("namespace",)) | controller_fields(metadata), "spec": kept}
    resized = project_resize(spec, status)
    if resized:
        found["status"] = resized
    return found


def trimmed_pod(obj: Object, annotations: Container[str] = ()) -> Object:
    """Return the fields of a pod that scheduling needs: `read_pods` reads the same pod from them as from the whole
    object. annotations: the names of the annotations to keep."""
    own, shared = individual_fields(obj, annotations), shared_fields(obj, placed=is_placed(obj))
    found = {name: part(own, name) | part(shared, name) for name in own}
    if conditions := [*_conditions_of(own), *_conditions_of(shared)]:
        found["status"]["conditions"] = conditions
    return without_empty_parts(found, obj)


def with_state(kept: Object, obj: Object) -> Object:
    """Add the fields of a pod without a node that only explanations read: its creation time, its finalizers and its
    scheduler's message."""
    found = select_fields(part(obj, "metadata"), ("creationTimestamp", "finalizers"))
    condition = condition_in(part(obj, "status"), "PodScheduled")
    said = [*_conditions_of(kept), select_fields(condition, ("type", "status", "reason", "message"))]
    conditions: Object = {"conditions": said} if condition else {}
    added = {"metadata": found, "status": conditions}
    return kept | {name: part(kept, name) | fields for name, fields in added.items() if fields}


SELECTING = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")
"""The spec fields that rules read only for pods without a node. The replacement of a pod on a node is such a pod."""

REPLACEMENT = "replacement"
"""The key under which a pod on a node has the fields of SELECTING, as a text in the form of SHARED."""


def with_replacement(kept: Object, obj: Object) -> Object:
    """Add REPLACEMENT to a pod on a node. Raises JSONEncodeError."""
    return kept | {REPLACEMENT: encode_shared_fields(select_fields(part(obj, "spec"), SELECTING))}


def is_placed(obj: Object) -> bool:
    return bool(part(obj, "spec").get("nodeName"))


def controller_of(references: object) -> Object | None:
    """Return the owner with `controller: true`, as `metav1.GetControllerOf` finds it."""
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return reference
    return None


def _conditions_of(parts: Object) -> list[object]:
    conditions = part(parts, "status").get("conditions")
    return conditions if isinstance(conditions, list) else []


def controller_fields(metadata: Object) -> Object:
    """Return the owner that manages the object, under `ownerReferences`; {} if there is none."""
    owner = controller_of(metadata.get("ownerReferences"))
    return {} if owner is None else {"ownerReferences": [select_fields(owner, _OWNER) | {"controller": True}]}


SHARED = "shared"
"""The field of a compact pod that has the shared fields as a text. A v1.Pod does not have this field."""

_EXCHANGED = bytes.maketrans(b"\"'", b"'\"")
"""A table that swaps single and double quotes: a text with single quotes does not need escapes in JSON."""


def compact_pod(obj: Object, annotations: Container[str] = (), *, images: bool = True) -> Object:
    """Return the pod's `individual_fields`, and under SHARED its `shared_fields` as a string. Pods with equal shared
    fields have the same string object, so that the parser can look it up without decoding it. Raises JSONEncodeError if
    JSON cannot represent a key or a value."""
    shared = encode_shared_fields(shared_fields(obj, placed=is_placed(obj), images=images))
    return without_empty_parts(individual_fields(obj, annotations), obj) | {SHARED: shared}


def encode_shared_fields(shared: Object) -> str:
    """Encode shared fields as the string under SHARED. Raises JSONEncodeError."""
    return intern(orjson.dumps(shared, option=orjson.OPT_SORT_KEYS).translate(_EXCHANGED).decode())


def decode_shared_fields(source: str) -> object:
    """Decode the string under SHARED. The result may be any JSON value. Raises JSONDecodeError."""
    return orjson.loads(source.encode(errors="replace").translate(_EXCHANGED))


UNDECIDED = "undecided"
"""The field with the pod's creation time, its scheduler, and whether the last call of the extender failed. It is set
only if that call failed, or if no scheduler has tried the pod yet."""

REJECTED = "rejectedByBerth"

WAITS_FOR_POOL = "waitsForPool"
"""The field that is true if Berth rejected the pod because a floating pool has too little left."""


def rejected_by_berth(pod: Mapping[str, object]) -> bool:
    return pod.get(REJECTED) is True


def is_member(pod: Mapping[str, object]) -> bool:
    metadata, shared = part(pod, "metadata"), pod.get(SHARED)
    if isinstance(shared, str) and "'schedulingGroup':" in shared:
        return True
    return GANG_ANNOTATION in part(metadata, "annotations") or not POD_GROUP_LABELS.keys().isdisjoint(
        part(metadata, "labels")
    )
