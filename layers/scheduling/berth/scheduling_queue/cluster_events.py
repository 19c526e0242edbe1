"""What the published change of an object is for waiting pods: cluster events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.cluster.field_projection import is_member
from berth.nodecache.feed.changes import Object
from berth.scheduling.framework.cluster_event import ClusterEvent
from berth.scheduling.objects.pod import FAILED, SUCCEEDED
from berth.scheduling.objects.projection import SHARED


def object_event(resource: str, now: Object | None) -> ClusterEvent:
    """Of an object other than a pod; None: it was removed."""
    if resource == "nodes":
        return ClusterEvent.NODE_DELETE if now is None else ClusterEvent.NODE_UPDATE
    if resource.startswith("podgroups."):
        return ClusterEvent.POD_GROUP
    return ClusterEvent.NAMESPACE if resource == "namespaces" else ClusterEvent.OTHERS


def pod_events(before: Object | None, now: Object | None) -> Iterator[ClusterEvent]:
    """Of a projected pod. before: as published before; None: it was not.

    Between two publications a pod may be bound and removed. So every pod that was removed may have been on a node.
    """
    old, new = (None if pod is None or _has_ended(pod) else pod for pod in (before, now))
    stays = old is not None and new is not None and _place(old) in ("", _place(new))
    if not stays and (old is not None or (before is None and new is None)):
        yield ClusterEvent.ASSIGNED_POD_DELETE
    if stays and _content(old) == _content(new):
        return
    if new is not None and not is_unscheduled(new):
        is_update = stays and old is not None and not is_unscheduled(old)
        yield ClusterEvent.ASSIGNED_POD_UPDATE if is_update else ClusterEvent.ASSIGNED_POD_ADD
    unscheduled = [pod for pod in (old, new) if pod is not None and is_unscheduled(pod)]
    if unscheduled:
        yield ClusterEvent.GANG_MEMBER if any(map(is_member, unscheduled)) else ClusterEvent.UNSCHEDULED_POD


def is_unscheduled(pod: Object) -> bool:
    """Whether the pod is on no node, and may come onto one."""
    return not _field(pod, "spec", "nodeName") and not _has_ended(pod)


def _has_ended(pod: Object) -> bool:
    return _field(pod, "status", "phase") in (SUCCEEDED, FAILED)


def _place(pod: Object) -> object:
    """Where it takes room: its node, or the one that it is nominated to."""
    return _field(pod, "spec", "nodeName") or _field(pod, "status", "nominatedNodeName") or ""


def _content(pod: Object | None) -> list[object]:
    """All else that decisions about other pods read."""
    return [] if pod is None else [pod.get(name) for name in ("metadata", "spec", SHARED)]


def _field(pod: Object, part: str, name: str) -> object:
    found = pod.get(part)
    return found.get(name) if isinstance(found, Mapping) else None
