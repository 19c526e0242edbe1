"""A cluster for benchmarks, with any number of nodes, 30 pods on each node and 200 controllers; and its changes.

Nodes are in three zones and in racks. Some are tainted, cordoned, not ready or full; one in four lacks the priority
label. Some controllers have (anti-)affinity, and stateful sets give each pod a separate label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from berth.scheduling.objects import LabelSet, Namespace, NodeInfo, Pod, PodSpec, label_set, read_node, read_pods
from berth.scheduling.objects.cluster import Workload, Workloads
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

PODS_PER_NODE = 30
CONTROLLERS = 200
STATEFUL = 10
"""One in this many controllers is a StatefulSet; the others are ReplicaSets."""

NAMESPACES = 20

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Controller:
    index: int
    labels: dict[str, str]
    labels_of_all: LabelSet
    spec: PodSpec

    @property
    def namespace(self) -> str:
        return self.labels_of_all.namespace

    def pod(self, name: str, node_name: str) -> Pod:
        own = self.labels_of_all
        if self.index % STATEFUL == 0:
            own = label_set(self.namespace, {**self.labels, "statefulset.kubernetes.io/pod-name": name})
        return Pod(name, f"uid-{name}", own, self.spec, node_name, phase="Running")


@cache
def controllers() -> tuple[Controller, ...]:
    found = []
    for index in range(CONTROLLERS):
        manifest = pod_manifest(index)
        manifest["spec"]["nodeName"] = "any"
        [pod], _ = read_pods([manifest])
        found.append(Controller(index, manifest["metadata"]["labels"], pod.label_set, pod.spec))
    return tuple(found)


@cache
def snapshot(count: int) -> Snapshot:
    workloads = [
        Workload("Service", each.namespace, each.labels["app"], {"app": each.labels["app"]}) for each in controllers()
    ]
    namespaces = [Namespace(f"team-{index}", {"team": f"team-{index}"}) for index in range(NAMESPACES)]
    return Snapshot.of(_nodes(count), namespaces=namespaces, workloads=Workloads.of(workloads))


@cache
def _nodes(count: int) -> tuple[NodeInfo, ...]:
    larger = next((size for size in (5_000, 15_000) if size > count), None)
    if larger is not None and count < 5_000:
        return _nodes(5_000)[:count]
    return tuple(_node(index) for index in range(count))


def _node(index: int) -> NodeInfo:
    info = read_node(node_manifest(index))
    assert isinstance(info, NodeInfo)
    # 7 and 200 are coprime: no controller has two pods on a node.
    those = [controllers()[(index * PODS_PER_NODE + number) * 7 % CONTROLLERS] for number in range(PODS_PER_NODE)]
    return info.with_pods(each.pod(f"{each.labels['app']}-{index}", info.name) for each in those)


def node_name(index: int) -> str:
    """Return a node name as long as those of a cloud provider."""
    return f"ip-10-{index // 256}-{index % 256}-17.eu-central-1.compute.internal"


def node_manifest(index: int) -> Manifest:
    """Return a v1.Node."""
    taints = []
    if index % 10 == 9:
        taints.append({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"})
    if index % 20 == 5:
        taints.append({"key": "spot", "value": "", "effect": "PreferNoSchedule"})
    return {
        "metadata": {
            "name": node_name(index),
            "labels": {
                "kubernetes.io/hostname": f"ip-10-{index // 256}-{index % 256}-17",
                "kubernetes.io/arch": "arm64",
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/region": "eu-central-1",
                "topology.kubernetes.io/zone": f"eu-central-1{'abc'[index % 3]}",
                "topology.example.com/rack": f"rack-{index // 40}",
                "node.kubernetes.io/instance-type": ("m7g.4xlarge", "m7g.8xlarge", "c7g.8xlarge")[index % 7 % 3],
                "eks.amazonaws.com/nodegroup": f"shop-{index % 7}",
                **({} if index % 4 == 3 else {"priority.lixueduan.com": str(index % 4 * 10)}),
            },
        },
        "spec": {"taints": taints, "unschedulable": index % 100 == 50},
        "status": {
            # A node's pods request 13 to 14 CPUs: one node in nine is full.
            "allocatable": {"cpu": "13500m" if index % 9 == 0 else "16", "memory": "64Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "Unknown" if index % 200 == 77 else "True"}],
            "images": [
                {"names": [_image((index + number) % CONTROLLERS)], "sizeBytes": 9 << 25} for number in range(20)
            ],
        },
    }


def pod_manifest(index: int) -> Manifest:
    """Return a v1.Pod of the controller with this index, as the scheduler sends it."""
    app = f"app-{index}"
    kind = "StatefulSet" if index % STATEFUL == 0 else "ReplicaSet"
    spec: Manifest = {
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "restartPolicy": "Always",
        "serviceAccountName": app,
        "containers": [
            {
                "name": "app",
                "image": _image(index),
                "env": [{"name": f"SETTING_{number}", "value": f"value of {number}"} for number in range(10)],
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": f"{(1 + index % 8) * 100}m", "memory": f"{(1 + index % 6) * 256}Mi"}},
                "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
                "terminationMessagePath": "/dev/termination-log",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "volumes": [{"name": "token", "projected": {"defaultMode": 420}}],
        "tolerations": [
            {"key": f"node.kubernetes.io/{each}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for each in ("not-ready", "unreachable")
        ],
    }
    if index % 5 == 1:
        spec["affinity"] = {"podAntiAffinity": {_PREFERRED: [{"weight": 100, "podAffinityTerm": _term(app, _HOST)}]}}
    if index % 10 == 2:
        spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [_term(app, _HOST)]}}
    if index % 40 == 3:
        spec["affinity"] = {"podAffinity": {_REQUIRED: [_term(f"app-{index - 3}", _ZONE)]}}
    return {
        "metadata": {
            "name": f"{app}-new",
            "namespace": f"team-{index % NAMESPACES}",
            "uid": f"uid-{app}-new",
            "creationTimestamp": "2026-10-01T10:00:00Z",
            "labels": {"app": app, "pod-template-hash": f"{index * 7919:010x}", "app.kubernetes.io/managed-by": "Helm"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": app, "controller": True}],
        },
        "spec": spec,
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


PLAIN = 4
"""The index of a controller whose pods have no inter-pod terms."""


def plain_pod() -> Manifest:
    """Return a pod of a controller without inter-pod terms."""
    return pod_manifest(PLAIN)


def spread_pod() -> Manifest:
    """Return a pod with anti-affinity to its own app and with spread constraints on zones, racks and nodes."""
    manifest = pod_manifest(PLAIN)
    app = manifest["metadata"]["labels"]["app"]
    # Every seventh node has a pod of the app: the skews allow for the differences between domains.
    manifest["spec"]["affinity"] = {"podAntiAffinity": {_REQUIRED: [_term(app, _HOST)]}}
    manifest["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
        }
        for key, skew in ((_ZONE, 5), (_RACK, 2), (_HOST, 1))
    ]
    return manifest


def changes(of: Snapshot, share: float = 0.01) -> Iterator[Snapshot]:
    """Yield snapshots without end: each time, other nodes lose one pod and gain one."""
    names = list(of.nodes)
    step = max(1, int(len(names) * share))
    # The changed nodes are spread over the cluster.
    order = [name for offset in range(len(names) // step) for name in names[offset :: len(names) // step]]
    for number, start in enumerate(range(0, 10**9, step)):
        touched = [order[index % len(order)] for index in range(start, start + step)]
        gone = [of.nodes[name].pods[0] for name in touched]
        come = [
            controllers()[(number * 31 + index) % CONTROLLERS].pod(f"new-{number}-{index}", name)
            for index, name in enumerate(touched)
        ]
        of = of.with_changes(Changes(pods=come, pods_gone=[(pod.node_name, pod.uid) for pod in gone]))
        yield of


REQUESTS = 8
NEIGHBOURS = 64
"""Range in which a node's position in the list varies, because the scheduler filters in 16 goroutines."""


def requested_names(count: int) -> Iterator[list[str]]:
    """Yield the names of the first `count` nodes, as requests list them.

    Their order is unknown to the extender, but similar each time: the scheduler goes through its nodes in a circle,
    starts at another node each time, and neighboring nodes change places.
    """
    draw = Random(count)
    names = [node_name(index) for index in range(count)]
    draw.shuffle(names)
    for _ in range(REQUESTS):
        start = draw.randrange(count)
        order = sorted(range(count), key=lambda index: index + draw.random() * NEIGHBOURS)
        yield [names[(start + index) % count] for index in order]


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_HOST = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_RACK = "topology.example.com/rack"


def _term(app: str, topology_key: str) -> Manifest:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": topology_key}


def _image(index: int) -> str:
    return f"registry.example.com/shop/app-{index}:2026.10.1"
