"""Nodes: as values for decisions, and as the objects that Kubernetes sends."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.objects import NodeInfo

PRIORITY = "priority.lixueduan.com"
"""The label that the profile label-priority reads unless it is told otherwise."""


def node(name: str, labels: Mapping[str, str] | None = None, defect: str | None = None) -> NodeInfo:
    """A node with these labels."""
    return NodeInfo(name, dict(labels or {}), defect)


def labelled(name: str, value: str) -> NodeInfo:
    """A node whose priority label has this value."""
    return node(name, {PRIORITY: value})


def node_object(name: str, labels: Mapping[str, object] | None = None) -> dict[str, object]:
    """A v1.Node as the scheduler sends it in full mode: without kind and apiVersion (fact 2)."""
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {})},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def labelled_object(name: str, value: str) -> dict[str, object]:
    """A v1.Node whose priority label has this value."""
    return node_object(name, {PRIORITY: value})
