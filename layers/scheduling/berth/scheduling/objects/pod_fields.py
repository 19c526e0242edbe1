"""Which fields of a v1.Pod scheduling needs. Nothing else is kept, in memory or in the cache.

`own_part` holds what is a pod's alone, `shared_part` what it has in common with the other pods of its controller. Both
have the shape of a v1.Pod. They copy and leave out; a field of the wrong type is passed on for the reading to name.
"""

from __future__ import annotations

from collections.abc import Container

from berth.scheduling.objects.container_fields import kept_container, kept_requests
from berth.scheduling.objects.picking import (
    as_far_as_given,
    part,
    picked,
    picked_annotations,
    picked_condition,
    trimmed_items,
)
from berth.scheduling.objects.reading import Object
from berth.scheduling.objects.resize_fields import kept_resize

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
_OWNER = ("apiVersion", "kind", "name")


def own_part(obj: Object, annotations: Container[str] = ()) -> Object:
    """Name, identity, labels, these annotations, place and state."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    return {
        "metadata": picked(metadata, ("name", "namespace", "uid", "labels", "deletionTimestamp"))
        | picked_annotations(metadata, annotations),
        "spec": picked(spec, ("nodeName",)),
        "status": picked(status, ("phase", "startTime", "nominatedNodeName"))
        | picked_condition(status, "DisruptionTarget"),
    }


def shared_part(obj: Object, *, placed: bool) -> Object:
    """Everything else. Of a pod that is on a node, only what the placement of other pods depends on."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    kept = picked(spec, _ALWAYS if placed else _ALWAYS + _TO_PLACE)
    for field in ("containers", "initContainers"):
        if (containers := spec.get(field)) is not None:
            kept[field] = trimmed_items(containers, lambda container: kept_container(container, placed))
    if (affinity := spec.get("affinity")) is not None:
        chosen = picked(affinity, _AFFINITY_OF_PLACED) if placed and isinstance(affinity, dict) else affinity
        if chosen != {}:
            kept["affinity"] = chosen
    if (resources := spec.get("resources")) is not None:
        kept["resources"] = kept_requests(resources)
    if not placed and isinstance(volumes := spec.get("volumes"), list) and (images := _image_volumes(volumes)):
        kept["volumes"] = images
    found: Object = {"metadata": picked(metadata, ("namespace",)) | _controller(metadata), "spec": kept}
    resized = kept_resize(spec, status)
    if resized:
        found["status"] = resized
    return found


def trimmed_pod(obj: Object, annotations: Container[str] = ()) -> Object:
    """A pod with the fields that scheduling needs: `read_pods` finds the same in it as in the whole object.

    Of its annotations only these.
    """
    own, shared = own_part(obj, annotations), shared_part(obj, placed=is_placed(obj))
    found = {name: part(own, name) | part(shared, name) for name in own}
    if conditions := [*_conditions_of(own), *_conditions_of(shared)]:
        found["status"]["conditions"] = conditions
    return as_far_as_given(found, obj)


def without_images(obj: Object) -> Object:
    """The pod without what ImageLocality alone reads of it."""
    spec = {name: value for name, value in part(obj, "spec").items() if name != "volumes"}
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = trimmed_items(spec[field], _without_image)
    return obj | {"spec": spec} if isinstance(obj.get("spec"), dict) else obj


def is_placed(obj: Object) -> bool:
    """Whether the pod is on a node."""
    return bool(part(obj, "spec").get("nodeName"))


def controller_of(references: object) -> Object | None:
    """The owner with `controller: true`, as `metav1.GetControllerOf` finds it."""
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller") is True:
            return reference
    return None


def _conditions_of(parts: Object) -> list[object]:
    conditions = part(parts, "status").get("conditions")
    return conditions if isinstance(conditions, list) else []


def _without_image(container: Object) -> Object:
    return {name: value for name, value in container.items() if name != "image"}


def _image_volumes(volumes: list[object]) -> list[object]:
    return [volume for volume in volumes if isinstance(volume, dict) and volume.get("image") is not None]


def _controller(metadata: Object) -> Object:
    owner = controller_of(metadata.get("ownerReferences"))
    return {} if owner is None else {"ownerReferences": [picked(owner, _OWNER) | {"controller": True}]}
