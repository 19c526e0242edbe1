"""Changes of the cluster that can make a rejected pod fit, as kube-scheduler's plugins register them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from berth.scheduling.snapshot.parts import Parts, SnapshotPart


class ClusterEvent(StrEnum):
    """A kind of change. An assigned pod is on a node.

    NODE_UPDATE: a node was added or changed. ASSIGNED_POD_ADD: a pod came onto a node. ASSIGNED_POD_UPDATE: it changed
    there, such as its labels, or is being deleted. ASSIGNED_POD_DELETE: it was removed, or ended; also the end of a
    nomination, and of a pod that may have been on a node unseen. UNSCHEDULED_POD: a pod on no node was created or
    changed, or has ended. GANG_MEMBER: the same of a pod that names a gang. NAMESPACE: labels. OTHERS: workloads,
    disruption budgets, priority classes.
    """

    NODE_UPDATE = "NodeUpdate"
    NODE_DELETE = "NodeDelete"
    ASSIGNED_POD_ADD = "AssignedPodAdd"
    ASSIGNED_POD_UPDATE = "AssignedPodUpdate"
    ASSIGNED_POD_DELETE = "AssignedPodDelete"
    UNSCHEDULED_POD = "UnscheduledPod"
    GANG_MEMBER = "GangMember"
    POD_GROUP = "PodGroup"
    NAMESPACE = "Namespace"
    OTHERS = "Others"


ClusterEvents = frozenset[ClusterEvent]

ALL_EVENTS: ClusterEvents = frozenset(ClusterEvent)
NODE_EVENTS: ClusterEvents = frozenset({ClusterEvent.NODE_UPDATE})
POD_EVENTS: ClusterEvents = frozenset(
    {ClusterEvent.ASSIGNED_POD_ADD, ClusterEvent.ASSIGNED_POD_UPDATE, ClusterEvent.ASSIGNED_POD_DELETE}
)
EVENTS_ON_ONE_NODE: ClusterEvents = NODE_EVENTS | POD_EVENTS
GANG_EVENTS: ClusterEvents = ALL_EVENTS - {ClusterEvent.UNSCHEDULED_POD, ClusterEvent.OTHERS}
"""A gang needs its members, and room by the rules of its profile and of kube-scheduler."""

_BY_PART: Mapping[SnapshotPart, ClusterEvents] = {
    SnapshotPart.NODES: frozenset({ClusterEvent.NODE_UPDATE, ClusterEvent.NODE_DELETE}),
    SnapshotPart.PODS: POD_EVENTS | {ClusterEvent.UNSCHEDULED_POD, ClusterEvent.GANG_MEMBER},
    SnapshotPart.OTHERS: frozenset({ClusterEvent.POD_GROUP, ClusterEvent.NAMESPACE, ClusterEvent.OTHERS}),
}


def events_of(parts: Parts) -> ClusterEvents:
    """Every change in these parts of the cluster's state."""
    return frozenset().union(*(_BY_PART[part] for part in parts))
