"""Nodes: as values for decisions, and as the objects that Kubernetes sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from berth.scheduling.objects import NodeInfo

PRIORITY = "priority.lixueduan.com"
"""The label that the profile label-priority reads by default."""


def node(name: str, labels: Mapping[str, str] | None = None, defect: str | None = None) -> NodeInfo:
    return NodeInfo(name, dict(labels or {}), defect)


def labelled(name: str, value: str) -> NodeInfo:
    return node(name, {PRIORITY: value})


def node_object(name: str, labels: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return a v1.Node as the scheduler sends it in full mode: without kind and apiVersion (fact 2)."""
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {})},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": {"cpu": "8", "memory": "32Gi"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def labelled_object(name: str, value: str) -> dict[str, object]:
    """Return a v1.Node whose priority label has this value."""
    return node_object(name, {PRIORITY: value})


def node_with(
    name: str = "n",
    labels: Mapping[str, str] | None = None,
    *,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    allocatable: Mapping[str, str] | None = None,
    status: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Return a v1.Node of a dump with its name as host name; by default with 4 CPUs, 8Gi and room for ten pods."""
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {"taints": [dict(taint) for taint in taints], "unschedulable": unschedulable},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **(allocatable or {})},
            "conditions": [{"type": "Ready", "status": "True"}],
            **(status or {}),
        },
    }
