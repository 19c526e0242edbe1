"""Converts a node of a snapshot to an object from which the same node can be parsed."""

from __future__ import annotations

from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import CPU, PODS
from berth.scheduling.objects import NodeInfo


def node_document(node: NodeInfo) -> Object:
    """Build a v1.Node with the fields that rules read. `read_node` parses it into the same node, without its pods."""
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    allocatable = {name: f"{amount}m" if name == CPU else str(amount) for name, amount in node.allocatable.items()}
    allocatable[PODS] = str(node.allowed_pods)
    conditions = [{"type": "Ready", "status": node.ready}] if node.ready else []
    return {
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": dict(node.annotations)},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {
            "phase": node.phase,
            "allocatable": allocatable,
            "conditions": conditions,
            "images": [{"names": [name], "sizeBytes": size} for name, size in node.images.items()],
        },
    }
