"""The contents of a snapshot, for comparison: two snapshot objects never compare equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.snapshot import Snapshot

K = TypeVar("K", bound=Hashable)


def content(snapshot: Snapshot) -> Mapping[str, object]:
    """Return the whole content, regardless of the order of pods and of objects."""
    return {
        "nodes": {name: _node(node) for name, node in snapshot.nodes.items()},
        "unbound": dict(snapshot.unbound),
        "nominated": {name: {pod.uid: pod for pod in pods} for name, pods in snapshot.nominated.items()},
        "pods_on_unknown_nodes": {
            name: {pod.uid: pod for pod in pods} for name, pods in snapshot.pods_on_unknown_nodes.items()
        },
        "namespaces": dict(snapshot.namespaces),
        "disruption budgets": {(budget.namespace, budget.name): budget for budget in snapshot.disruption_budgets},
        "priority classes": dict(snapshot.priority_classes),
        "services": dict(snapshot.workloads.services),
        "controllers": dict(snapshot.workloads.controllers),
        "pod groups": dict(snapshot.pod_groups),
        "gangs": {name: dict(pods) for name, pods in snapshot.pods_by_gang.items()},
    }


def _node(node: NodeInfo) -> Mapping[str, object]:
    usage = node.usage
    return {
        "itself": (node.labels, node.defect, node.taints, node.unschedulable, node.phase, node.ready, node.annotations),
        "room": (node.allocatable, node.allowed_pods, node.images, node.free),
        "pods": {pod.uid: pod for pod in node.pods},
        "number of pods": len(node.pods),
        "requested": _counted(usage.requested),
        "not zero": (usage.non_zero_cpu, usage.non_zero_memory),
        "label sets": _counted(usage.label_sets),
        "terminating": _counted(usage.terminating),
        "specs_with_affinity": _counted(usage.specs_with_affinity),
        "anti-specs_with_affinity": _counted(usage.specs_with_anti_affinity),
        "host ports": usage.host_ports,
    }


def _counted(counts: Mapping[K, int]) -> dict[K, int]:
    return {key: count for key, count in counts.items() if count}
