"""A large cluster, object by object as an API server stores it: 5,000 nodes with 30 pods each, of some 200 controllers.

Two thirds of the pods belong to Deployments, a quarter to DaemonSets, the rest to StatefulSets and Jobs: so some have
labels of their own, some a start time in common, and DaemonSet pods an affinity to their own node.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NODES = 5_000
PODS_PER_NODE = 30
DAEMON_SETS = 8
STATEFUL_SETS = 30
JOBS = 12
DEPLOYMENTS = 150
NAMESPACES = 40

Manifest = dict[str, Any]

_ZONES = "abc"
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_CPU = ("50m", "100m", "250m", "500m", "1", "2")
_MEMORY = ("64Mi", "128Mi", "256Mi", "512Mi", "1Gi", "4Gi")


@dataclass(frozen=True)
class Controller:
    """The common properties of the pods of a controller."""

    kind: str
    name: str
    namespace: str
    labels: dict[str, str]
    spec: Manifest


def node_name(index: int) -> str:
    """A node name of EC2."""
    return f"ip-10-{index // 256}-{index % 256}-17.eu-central-1.compute.internal"


def nodes(count: int = NODES) -> Iterator[Manifest]:
    """Nodes as in EKS, without images: see `images`."""
    draw = random.Random("nodes")
    for index in range(count):
        yield _node(draw, index)


def pods(nodes: int = NODES, per_node: int = PODS_PER_NODE) -> Iterator[Manifest]:
    """Pods by namespace and name, in the order of an API server's list."""
    draw = random.Random("pods")
    found = list(_pods(draw, nodes, per_node))
    found.sort(key=lambda pod: (pod["metadata"]["namespace"], pod["metadata"]["name"]))
    return iter(found)


def namespaces() -> Iterator[Manifest]:
    """The namespaces of the pods."""
    for index in range(NAMESPACES):
        name = f"team-{index}"
        yield {"metadata": {"name": name, "uid": name, "labels": {"kubernetes.io/metadata.name": name}}}


def disruption_budgets() -> Iterator[Manifest]:
    """One for every Deployment."""
    for each in controllers(random.Random("controllers")):
        if each.kind == "ReplicaSet":
            app = each.labels["app.kubernetes.io/name"]
            yield {
                "metadata": {"name": app, "namespace": each.namespace, "uid": app},
                "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": app}}},
                "status": {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3},
            }


def controllers(draw: random.Random) -> list[Controller]:
    """All controllers; the DaemonSets are first."""
    kinds = (
        ["DaemonSet"] * DAEMON_SETS + ["StatefulSet"] * STATEFUL_SETS + ["Job"] * JOBS + ["ReplicaSet"] * DEPLOYMENTS
    )
    return [_controller(draw, kind, index) for index, kind in enumerate(kinds)]


def _pods(draw: random.Random, nodes: int, per_node: int) -> Iterator[Manifest]:
    found = controllers(random.Random("controllers"))
    daemons, others = found[:DAEMON_SETS], found[DAEMON_SETS:]
    number = 0
    for index in range(nodes):
        for daemon in daemons[:per_node]:
            yield pod(draw, daemon, index, number)
        for _ in range(per_node - len(daemons)):
            number += 1
            yield pod(draw, others[number % len(others)], index, number)


def pod(draw: random.Random, controller: Controller, node: int, number: int) -> Manifest:
    """A running pod of a controller."""
    kind = controller.kind
    labels = dict(controller.labels)
    name = f"{controller.name}-{''.join(draw.choices(_SUFFIX, k=5))}"
    if kind == "StatefulSet":
        name = f"{controller.name}-{number}"
        labels |= {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(number)}
    started = f"2026-0{draw.randint(1, 9)}-{draw.randint(10, 28)}T{draw.randint(10, 23)}:{draw.randint(10, 59)}:00Z"
    spec = controller.spec | {"nodeName": node_name(node)}
    if kind == "DaemonSet":
        field = {"key": "metadata.name", "operator": "In", "values": [node_name(node)]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {
        "metadata": {
            "name": name,
            "generateName": f"{controller.name}-",
            "namespace": controller.namespace,
            "uid": _uid(draw),
            "resourceVersion": str(draw.randint(10**8, 10**9)),
            "creationTimestamp": started,
            "labels": labels,
            "annotations": {"kubectl.kubernetes.io/restartedAt": started, "checksum/config": _hex(draw, 64)},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
                    "kind": kind,
                    "name": controller.name,
                    "uid": _uid(draw),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": spec,
        "status": _status(spec, started),
    }


def _controller(draw: random.Random, kind: str, index: int) -> Controller:
    app = f"{draw.choice(('checkout', 'catalogue', 'billing', 'search', 'ingest', 'render'))}-{index}"
    labels = {
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/instance": app,
        "app.kubernetes.io/component": "server",
        "app.kubernetes.io/managed-by": "Helm",
    }
    name = app
    if kind == "ReplicaSet":
        labels["pod-template-hash"] = _hex(draw, 10)
        name = f"{app}-{labels['pod-template-hash']}"
    if kind in ("DaemonSet", "StatefulSet"):
        labels["controller-revision-hash"] = _hex(draw, 10)
    spec: Manifest = {
        "containers": [_container(draw, app), *([_container(draw, "proxy")] if index % 3 == 0 else [])],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "serviceAccountName": app,
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{taint}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for taint in ("not-ready", "unreachable")
        ],
        "volumes": [{"name": "config", "configMap": {"name": app, "defaultMode": 420}}],
    }
    if index % 4 == 0 and kind != "DaemonSet":
        term = {
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
            "topologyKey": "kubernetes.io/hostname",
        }
        weighted = {"weight": 100, "podAffinityTerm": term}
        spec["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}
    return Controller(kind, name, f"team-{index % NAMESPACES}", labels, spec)


def _container(draw: random.Random, name: str) -> Manifest:
    requests = {"cpu": draw.choice(_CPU), "memory": draw.choice(_MEMORY)}
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:{_hex(draw, 7)}",
        "env": [{"name": f"SETTING_{index}", "value": _hex(draw, 20)} for index in range(12)],
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"requests": requests, "limits": requests},
        "volumeMounts": [{"mountPath": "/etc/app", "name": "config"}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
    }


def _status(spec: Manifest, started: str) -> Manifest:
    """The status from the kubelet, with resources as since Kubernetes 1.33."""
    return {
        "phase": "Running",
        "startTime": started,
        "hostIP": "10.0.0.17",
        "podIP": "10.1.0.17",
        "qosClass": "Guaranteed",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": started}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": started}},
                "resources": container["resources"],
                "allocatedResources": container["resources"]["requests"],
            }
            for container in spec["containers"]
        ],
    }


def _node(draw: random.Random, index: int) -> Manifest:
    zone = f"eu-central-1{_ZONES[index % 3]}"
    kind = draw.choice(("m7g.4xlarge", "m7g.8xlarge", "c7g.8xlarge"))
    beat = "2026-10-01T10:00:00Z"
    return {
        "metadata": {
            "name": node_name(index),
            "uid": _uid(draw),
            "resourceVersion": str(draw.randint(10**8, 10**9)),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "labels": {
                "beta.kubernetes.io/arch": "arm64",
                "beta.kubernetes.io/instance-type": kind,
                "beta.kubernetes.io/os": "linux",
                "eks.amazonaws.com/capacityType": "ON_DEMAND",
                "eks.amazonaws.com/nodegroup": f"shop-{index % 7}",
                "eks.amazonaws.com/nodegroup-image": "ami-0f3c1e2d4b5a69788",
                "failure-domain.beta.kubernetes.io/region": "eu-central-1",
                "failure-domain.beta.kubernetes.io/zone": zone,
                "k8s.io/cloud-provider-aws": "0d7f1a4c6d1f4e8e9b2a3c4d5e6f7a8b",
                "kubernetes.io/arch": "arm64",
                "kubernetes.io/hostname": node_name(index),
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": kind,
                "topology.k8s.aws/zone-id": f"euc1-az{index % 3}",
                "topology.kubernetes.io/region": "eu-central-1",
                "topology.kubernetes.io/zone": zone,
                "priority.lixueduan.com": str(index % 4 * 10),
            },
        },
        "spec": {"providerID": f"aws:///{zone}/i-{_hex(draw, 17)}", "podCIDR": "10.0.0.0/24"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.17"}],
            "allocatable": _capacity("60Gi"),
            "capacity": _capacity("64Gi"),
            "conditions": [
                {"type": kind, "status": status, "lastHeartbeatTime": beat, "lastTransitionTime": beat, "message": kind}
                for kind, status in (("MemoryPressure", "False"), ("DiskPressure", "False"), ("Ready", "True"))
            ],
            "nodeInfo": {"kernelVersion": "6.1.0", "kubeletVersion": "v1.36.3", "machineID": _hex(draw, 32)},
        },
    }


def _capacity(memory: str) -> dict[str, str]:
    return {
        "cpu": "31850m",
        "ephemeral-storage": "76224326324",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": memory,
        "pods": "110",
    }


def _uid(draw: random.Random) -> str:
    digits = _hex(draw, 32)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _hex(draw: random.Random, length: int) -> str:
    return f"{draw.getrandbits(4 * length):0{length}x}"
