"""Which fields of a pod's status tell of a resize: what it says of resources, where the spec says otherwise."""

from __future__ import annotations

from berth.scheduling.objects.picking import picked, picked_condition, trimmed_items
from berth.scheduling.objects.reading import Object

_STATUS = ("resources", "allocatedResources")


def kept_resize(spec: Object, status: Object) -> Object:
    """Those fields, and whether the resize waits; empty where status and spec agree."""
    found: Object = {}
    for field, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        statuses = status.get(field)
        if statuses is None:
            continue
        asked = _asked_by_name(spec.get(containers))
        kept = [item for item in statuses if _differs(item, asked)] if isinstance(statuses, list) else statuses
        if kept:
            found[field] = trimmed_items(kept, lambda item: picked(item, ("name", *_STATUS)))
    if spec.get("resources") is not None and status.get("resources") is not None:
        found |= picked(status, _STATUS)
    return found | picked_condition(status, "PodResizePending") if found else found


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
