"""Copying what is kept of an object. A field of the wrong type is passed on, for the reading to name."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from berth.scheduling.objects.reading import Object


def part(obj: Object, name: str) -> Object:
    """`metadata`, `spec` or `status`; empty where it is none."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def picked(obj: Object, names: Iterable[str]) -> Object:
    """The fields of these names that are there; null counts as absent."""
    return {name: obj[name] for name in names if obj.get(name) is not None}


def as_far_as_given(parts: Mapping[str, object], obj: Object) -> Object:
    """Without the parts that are empty. One of the wrong type stays as it is, for the reading to name."""
    found = {name: kept if isinstance(obj.get(name), dict | None) else obj[name] for name, kept in parts.items()}
    return {name: kept for name, kept in found.items() if kept != {}}


def trimmed_items(value: object, trim: Callable[[Object], Object]) -> object:
    """The list with its objects trimmed."""
    if not isinstance(value, list):
        return value
    return [trim(item) if isinstance(item, dict) else item for item in value]


def picked_annotations(metadata: Object, names: Container[str]) -> Object:
    """Those of these names, under `annotations`; nothing where there are none."""
    found = metadata.get("annotations") if names else None
    kept = {name: found[name] for name in found if name in names} if isinstance(found, dict) else {}
    return {"annotations": kept} if kept else {}


def picked_condition(status: Object, kind: str) -> Object:
    """The first condition of that type, under `conditions`: it is the only one that counts."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == kind:
            return {"conditions": [picked(condition, ("type", "status", "reason"))]}
    return {}
