"""What the published change of an object is for waiting pods: cluster events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.cluster.field_projection import is_member
from berth.nodecache.feed.changes import Object
from berth.scheduling.framework.cluster_event import ClusterEvent
from berth.scheduling.objects.pod import FAILED, SUCCEEDED
from berth.scheduling.objects.projection import SHARED

_CONTENT = ("metadata", "spec", SHARED)
"""All that decisions about other pods read of a pod, but for its nomination."""
_NOMINATION = ("status", "nominatedNodeName")


def object_event(resource: str, now: Object | None) -> ClusterEvent:
    """Of an object other than a pod; None: it was removed."""
    if resource == "nodes":
        return ClusterEvent.NODE_DELETE if now is None else ClusterEvent.NODE_UPDATE
    if resource.startswith("podgroups."):
        return ClusterEvent.POD_GROUP
    return ClusterEvent.NAMESPACE if resource == "namespaces" else ClusterEvent.OTHERS


def pod_events(before: Object | None, now: Object | None) -> Iterator[ClusterEvent]:
    """Of a projected pod. before: as published before; None: it was not.

    Between two publications a pod may be bound and removed, and created anew under its name. So every pod that was
    removed may have been on a node.
    """
    old, new = (None if pod is None or _has_ended(pod) else pod for pod in (before, now))
    was_on_node = False
    if old is None or new is None or _field(old, "metadata", "uid") != _field(new, "metadata", "uid"):
        if old is not None or (before is None and new is None):
            yield ClusterEvent.ASSIGNED_POD_DELETE
    else:
        nominated = _field(old, *_NOMINATION)
        if nominated and is_unscheduled(new) and _field(new, *_NOMINATION) != nominated:
            yield ClusterEvent.ASSIGNED_POD_DELETE
        if all(old.get(name) == new.get(name) for name in _CONTENT):
            return
        was_on_node = not is_unscheduled(old)
    if new is not None and not is_unscheduled(new):
        yield ClusterEvent.ASSIGNED_POD_UPDATE if was_on_node else ClusterEvent.ASSIGNED_POD_ADD
    unscheduled = [pod for pod in (old, new) if pod is not None and is_unscheduled(pod)]
    if unscheduled:
        yield ClusterEvent.GANG_MEMBER if any(map(is_member, unscheduled)) else ClusterEvent.UNSCHEDULED_POD


def is_unscheduled(pod: Object) -> bool:
    """Whether the pod is on no node, and may come onto one."""
    return not _field(pod, "spec", "nodeName") and not _has_ended(pod)


def _has_ended(pod: Object) -> bool:
    return _field(pod, "status", "phase") in (SUCCEEDED, FAILED)


def _field(pod: Object, part: str, name: str) -> object:
    found = pod.get(part)
    return found.get(name) if isinstance(found, Mapping) else None
