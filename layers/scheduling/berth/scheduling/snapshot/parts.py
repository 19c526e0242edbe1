"""The parts of the cluster's state that are stored and loaded separately, because many policies read only nodes."""

from __future__ import annotations

from enum import StrEnum


class SnapshotPart(StrEnum):
    """A part of the state. The members are in the order of a stored snapshot; a later release may add parts at the end.
    OTHERS: namespaces, disruption budgets, priority classes, workloads and PodGroups."""

    NODES = "nodes"
    OTHERS = "others"
    PODS = "pods"


Parts = frozenset[SnapshotPart]

NO_PARTS: Parts = frozenset()
NODES_ONLY: Parts = frozenset({SnapshotPart.NODES})
NODES_AND_PODS: Parts = frozenset({SnapshotPart.NODES, SnapshotPart.PODS})
ALL_PARTS: Parts = frozenset(SnapshotPart)
