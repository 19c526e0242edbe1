"""A complete node and a complete pod, and the fields of an object that a projection keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from berth.cluster.field_projection import RequiredFields, projections
from berth.cluster.watch.resources import Resource
from berth.scheduling.objects.projection import decode_shared_fields

LITTLE = RequiredFields()


EVERYTHING = RequiredFields(spreading=True, images=True)


WHOLE_NODE: dict[str, Any] = {
    "metadata": {"name": "n1", "uid": "u", "labels": {"a": "b"}, "annotations": {"x": "y"}, "managedFields": [{}]},
    "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
    "status": {
        "phase": "Running",
        "allocatable": {"cpu": "8", "pods": "110"},
        "capacity": {"cpu": "8"},
        "conditions": [
            {"type": "DiskPressure", "status": "False"},
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z", "reason": "KubeletReady"},
        ],
        "images": [{"names": ["nginx:1"], "sizeBytes": 7}],
    },
}


WHOLE_POD: dict[str, Any] = {
    "metadata": {
        "name": "web-0",
        "namespace": "shop",
        "uid": "u",
        "labels": {"app": "web"},
        "annotations": {"x": "y"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}],
    },
    "spec": {
        "schedulerName": "berth",
        "priority": 7,
        "priorityClassName": "high",
        "preemptionPolicy": "Never",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"operator": "Exists"}],
        "serviceAccountName": "web",
        "containers": [
            {
                "name": "app",
                "image": "nginx",
                "env": [{"name": "PASSWORD", "value": "secret"}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
                "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81, "name": "x"}],
            }
        ],
        "volumes": [{"name": "v", "secret": {}}, {"name": "i", "image": {"reference": "weights"}}],
    },
    "status": {"phase": "Pending", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "False"}]},
}


def running(pod: dict[str, Any]) -> dict[str, Any]:
    return pod | {
        "spec": pod["spec"] | {"nodeName": "n1"},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "hostIP": "10.0.0.1"},
    }


def kept(resource: Resource, found: Mapping[str, Any], needs: RequiredFields = LITTLE) -> dict[str, Any]:
    """Return the kept fields, with the shared part of a compact pod decoded."""
    trimmed = dict(projections(needs)[resource](orjson.loads(orjson.dumps(found))))
    if "shared" in trimmed:
        trimmed["shared"] = decode_shared_fields(str(trimmed["shared"]))
    return trimmed
