"""Services and workloads: default spread constraints use their selectors."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import POD_LABELS, label_selector

Owner = dict[str, Any]


def workloads(draw: Draw, pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Draw services and, often, a controller that owns the pod."""
    namespace = pod["metadata"]["namespace"]
    services = [_service(draw, f"svc{index}", namespace, pod) for index in range(draw.between(0, 2))]
    if draw.chance(0.4):
        return services
    kind = draw.one_of(("ReplicaSet", "StatefulSet", "ReplicationController"))
    labels = pod["metadata"].get("labels") or {"app": "web"}
    controller = _controller(draw, kind, namespace, labels)
    owner = {key: controller[key] for key in ("apiVersion", "kind")}
    if draw.chance(0.1):
        owner["apiVersion"] = "example.com/v1"  # the same kind in another API group
    owner |= {"name": "owner" if draw.chance(0.9) else "gone", "uid": "uid-owner", "controller": draw.chance(0.9)}
    pod["metadata"]["ownerReferences"] = [owner]
    return [*services, controller]


def _service(draw: Draw, name: str, namespace: str, pod: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "type": "ClusterIP"}
    labels = pod["metadata"].get("labels", {})
    if labels and draw.chance(0.7):
        key = draw.one_of(list(labels))
        spec["selector"] = {key: labels[key]}
    elif draw.chance(0.7):
        key = draw.one_of(list(POD_LABELS))
        spec["selector"] = {key: draw.one_of(POD_LABELS[key])}
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _controller(draw: Draw, kind: str, namespace: str, labels: dict[str, str]) -> dict[str, Any]:
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    metadata = {"name": "owner", "namespace": namespace, "uid": "uid-owner"}
    key = draw.one_of(list(labels))
    spec: dict[str, Any] = {"replicas": 2, "template": template}
    if kind == "ReplicationController":
        spec["selector"] = {key: labels[key]}
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
    spec["selector"] = _matching_selector(draw, labels)
    if kind == "StatefulSet":
        spec |= {"serviceName": "svc0", "updateStrategy": {"type": "RollingUpdate"}, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _matching_selector(draw: Draw, labels: dict[str, str]) -> dict[str, Any]:
    """Draw a selector that the template's labels satisfy, as an API server demands."""
    key = draw.one_of(list(labels))
    selector = label_selector(draw, {key: (labels[key],)})
    expressions = [{"key": key, "operator": "In", "values": [labels[key], "other"]}]
    return {"matchLabels": selector.get("matchLabels", {key: labels[key]}), "matchExpressions": expressions}
