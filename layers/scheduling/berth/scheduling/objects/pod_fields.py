"""Which fields of a v1.Pod scheduling needs. Nothing else is kept, in memory or in the cache.

`own_part` holds what is a pod's alone, `shared_part` what it has in common with the other pods of its controller. Both
have the shape of a v1.Pod. They copy and leave out; a field of the wrong type is passed on for the reading to name.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from sys import intern

import orjson

from berth.scheduling.objects.reading import Object
from berth.scheduling.objects.resources import is_extended

SHARED = "shared"
"""The field of a compact pod that a v1.Pod does not have."""

_EXCHANGED = bytes.maketrans(b"\"'", b"'\"")
"""Single and double quotes: text with single ones needs no escapes where it stands in JSON."""

_ALWAYS = ("schedulerName", "priority", "overhead")
_TO_PLACE = (
    "priorityClassName",
    "preemptionPolicy",
    "nodeSelector",
    "tolerations",
    "topologySpreadConstraints",
    "schedulingGates",
)
_AFFINITY_OF_PLACED = ("podAffinity", "podAntiAffinity")
_PORT = ("hostIP", "hostPort", "protocol")
_OWNER = ("apiVersion", "kind", "name")
_STATUS = ("resources", "allocatedResources")


def own_part(obj: Object, annotations: Container[str] = ()) -> Object:
    """Name, identity, labels, these annotations, place and state."""
    metadata, spec, status = (_part(obj, name) for name in ("metadata", "spec", "status"))
    return {
        "metadata": _picked(metadata, ("name", "namespace", "uid", "labels", "deletionTimestamp"))
        | picked_annotations(metadata, annotations),
        "spec": _picked(spec, ("nodeName",)),
        "status": _picked(status, ("phase", "startTime", "nominatedNodeName"))
        | _conditions(status, "DisruptionTarget"),
    }


def shared_part(obj: Object, *, placed: bool) -> Object:
    """Everything else. Of a pod that is on a node, only what the placement of other pods depends on."""
    metadata, spec, status = (_part(obj, name) for name in ("metadata", "spec", "status"))
    kept = _picked(spec, _ALWAYS if placed else _ALWAYS + _TO_PLACE)
    for field in ("containers", "initContainers"):
        if (containers := spec.get(field)) is not None:
            kept[field] = _each(containers, lambda container: _container(container, placed))
    if (affinity := spec.get("affinity")) is not None:
        chosen = _picked(affinity, _AFFINITY_OF_PLACED) if placed and isinstance(affinity, dict) else affinity
        if chosen != {}:
            kept["affinity"] = chosen
    if (resources := spec.get("resources")) is not None:
        kept["resources"] = _requests(resources)
    if not placed and isinstance(volumes := spec.get("volumes"), list) and (images := _image_volumes(volumes)):
        kept["volumes"] = images
    found: Object = {"metadata": _picked(metadata, ("namespace",)) | _controller(metadata), "spec": kept}
    resized = _resize(spec, status)
    if resized:
        found["status"] = resized
    return found


def trimmed_pod(obj: Object, annotations: Container[str] = ()) -> Object:
    """A pod with the fields that scheduling needs: `read_pods` finds the same in it as in the whole object.

    Of its annotations only these.
    """
    own, shared = own_part(obj, annotations), shared_part(obj, placed=is_placed(obj))
    found = {name: _part(own, name) | _part(shared, name) for name in own}
    if conditions := [*_conditions_of(own), *_conditions_of(shared)]:
        found["status"]["conditions"] = conditions
    return _as_far_as_given(found, obj)


def compact_pod(obj: Object, annotations: Container[str] = ()) -> Object:
    """A pod as the cache keeps it: its own part, and the shared part as text under SHARED.

    As text it is one object for all pods that have it in common, and is found again without being decoded. Raises
    JSONEncodeError where there are keys or values that JSON has not.
    """
    shared = orjson.dumps(shared_part(obj, placed=is_placed(obj)), option=orjson.OPT_SORT_KEYS)
    return _as_far_as_given(own_part(obj, annotations), obj) | {SHARED: intern(shared.translate(_EXCHANGED).decode())}


def decoded_shared_part(source: str) -> object:
    """What stands under SHARED, which may be anything. Raises JSONDecodeError."""
    return orjson.loads(source.encode(errors="replace").translate(_EXCHANGED))


def without_images(obj: Object) -> Object:
    """The pod without what ImageLocality alone reads of it."""
    spec = {name: value for name, value in _part(obj, "spec").items() if name != "volumes"}
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = _each(spec[field], lambda item: {name: item[name] for name in item if name != "image"})
    return obj | {"spec": spec} if isinstance(obj.get("spec"), dict) else obj


def is_placed(obj: Object) -> bool:
    """Whether the pod is on a node."""
    return bool(_part(obj, "spec").get("nodeName"))


def controller_of(references: object) -> Object | None:
    """The owner with `controller: true`, as `metav1.GetControllerOf` finds it."""
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return reference
    return None


def _part(obj: Object, name: str) -> Object:
    part = obj.get(name)
    return part if isinstance(part, dict) else {}


def _picked(obj: Object, names: Iterable[str]) -> Object:
    return {name: obj[name] for name in names if obj.get(name) is not None}


def _as_far_as_given(parts: Mapping[str, object], obj: Object) -> Object:
    """Without the parts that are empty. One of the wrong type stays as it is, for the reading to name."""
    found = {name: part if isinstance(obj.get(name), dict | None) else obj[name] for name, part in parts.items()}
    return {name: part for name, part in found.items() if part != {}}


def _conditions_of(parts: Object) -> list[object]:
    conditions = _part(parts, "status").get("conditions")
    return conditions if isinstance(conditions, list) else []


def _image_volumes(volumes: list[object]) -> list[object]:
    return [volume for volume in volumes if isinstance(volume, dict) and volume.get("image") is not None]


def _each(value: object, trim: Callable[[Object], Object]) -> object:
    if not isinstance(value, list):
        return value
    return [trim(item) if isinstance(item, dict) else item for item in value]


def _container(obj: Object, placed: bool) -> Object:
    found = _picked(obj, ("name", "restartPolicy") if placed else ("name", "restartPolicy", "image"))
    if (resources := obj.get("resources")) is not None:
        found["resources"] = _requests(resources)
    if (ports := obj.get("ports")) is not None:
        found["ports"] = _host_ports(ports)
    return {name: value for name, value in found.items() if value not in ({}, [])}


def _requests(resources: object) -> object:
    """With the limits of extended resources where there is no request: what the API server makes a request of."""
    if not isinstance(resources, dict):
        return resources
    kept = _picked(resources, ("requests",))
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


def picked_annotations(metadata: Object, names: Container[str]) -> Object:
    """Those of these names, under `annotations`; nothing where there are none."""
    found = metadata.get("annotations") if names else None
    picked = {name: found[name] for name in found if name in names} if isinstance(found, dict) else {}
    return {"annotations": picked} if picked else {}


def _host_ports(ports: object) -> object:
    if not isinstance(ports, list):
        return ports
    return [
        _picked(port, _PORT) if isinstance(port, dict) else port
        for port in ports
        if not isinstance(port, dict) or port.get("hostPort")
    ]


def _controller(metadata: Object) -> Object:
    owner = controller_of(metadata.get("ownerReferences"))
    return {} if owner is None else {"ownerReferences": [_picked(owner, _OWNER) | {"controller": True}]}


def _conditions(status: Object, kind: str) -> Object:
    """The first condition of that type: it is the only one that counts."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == kind:
            return {"conditions": [_picked(condition, ("type", "status", "reason"))]}
    return {}


def _resize(spec: Object, status: Object) -> Object:
    """What the status says of resources, where that differs from the spec."""
    found: Object = {}
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        statuses = status.get(field)
        if statuses is None:
            continue
        asked = _asked_by_name(spec.get(containers))
        kept = [item for item in statuses if _differs(item, asked)] if isinstance(statuses, list) else statuses
        if kept:
            found[field] = _each(kept, lambda item: _picked(item, ("name", *_STATUS)))
    if spec.get("resources") is not None and status.get("resources") is not None:
        found |= _picked(status, _STATUS)
    return found | _conditions(status, "PodResizePending") if found else found


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
