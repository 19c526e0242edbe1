"""Pods that are too large for an item of the cache, without some of their fields.

A pod that is missing in the cache counts as gone, and what it takes from its node would be given to others. So the
cache gets the rest of it: identity, node, state, requests and the annotations that resources are counted by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from berth.scheduling.objects.projection import SHARED, decode_shared_fields, encode_shared_fields, part

LEFT_OUT = "leftOut"
"""The field of a reduced pod that names the fields it lacks."""

LABELS = "metadata.labels"
_PLACEMENT = ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "volumes")
_CONTAINERS = ("containers", "initContainers")
_CONTAINER_FIELDS = ("name", "image", "ports")

Object = Mapping[str, object]


def is_reduced(obj: Object) -> bool:
    return type(obj.get(LEFT_OUT)) is list


def reduced_pods(pod: Object) -> Iterator[Object]:
    """The compact pod with less and less: without labels; without its rules for placement; without both; and also
    without the names, images and ports of its containers. Nothing where it is no compact pod.
    """
    metadata, shared = pod.get("metadata"), _shared(pod)
    if not isinstance(metadata, Mapping) or shared is None:
        return
    unlabelled = {"metadata": {name: value for name, value in metadata.items() if name != "labels"}}
    unplaced, placement = _without(shared, _PLACEMENT)
    bare, details = _without_container_fields(unplaced)
    yield {**pod, **unlabelled, LEFT_OUT: [LABELS]}
    yield {**pod, SHARED: encode_shared_fields(unplaced), LEFT_OUT: placement}
    yield {**pod, **unlabelled, SHARED: encode_shared_fields(unplaced), LEFT_OUT: [LABELS, *placement]}
    yield {**pod, **unlabelled, SHARED: encode_shared_fields(bare), LEFT_OUT: [LABELS, *placement, *details]}


def _shared(pod: Object) -> dict[str, object] | None:
    source = pod.get(SHARED)
    if not isinstance(source, str):
        return None
    try:
        found = decode_shared_fields(source)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("spec"), dict) else None


def _without(shared: dict[str, object], names: tuple[str, ...]) -> tuple[dict[str, object], list[str]]:
    spec = part(shared, "spec")
    kept = {name: value for name, value in spec.items() if name not in names}
    return {**shared, "spec": kept}, [f"spec.{name}" for name in names if name in spec]


def _without_container_fields(shared: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    kept = dict(part(shared, "spec"))
    for field in _CONTAINERS:
        containers = kept.get(field)
        if isinstance(containers, list):
            kept[field] = [
                {name: value for name, value in each.items() if name not in _CONTAINER_FIELDS}
                if isinstance(each, dict)
                else each
                for each in containers
            ]
    return {**shared, "spec": kept}, [f"spec.{field}[].{name}" for field in _CONTAINERS for name in _CONTAINER_FIELDS]
