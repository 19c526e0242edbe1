"""A small cluster for a plugin that is checked without a dump."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth.testing.builders import cluster, node, pod

_ZONE = "topology.kubernetes.io/zone"
_GPU = "nvidia.com/gpu"


def sample_cluster(keys: Collection[str] = ()) -> Snapshot:
    """Nodes in three zones, some of a team, with a taint or a GPU, and pods on most of them. keys: of labels that the
    plugin reads."""
    blue, green = _labels("blue", keys), _labels("green", keys)
    nodes: list[NodeInfo] = [
        node("blue-1", {_ZONE: "a", **blue}),
        node("blue-2", {_ZONE: "b", **blue}),
        node("green-1", {_ZONE: "c", **green}),
        node("gpu-1", {_ZONE: "a"}, allocatable={_GPU: "4"}, taints=[{"key": _GPU, "effect": "NoSchedule"}]),
        node("plain-1", {_ZONE: "b"}),
        node("plain-2"),
    ]
    placed = [
        pod("blue-on-1", {**blue, "app": "web"}, on="blue-1", requests={"cpu": "1"}),
        pod("green-on-1", {**green, "app": "db"}, on="green-1", requests={"cpu": "2", "memory": "4Gi"}),
        pod("train-on-1", {"app": "train"}, on="gpu-1", requests={_GPU: "2"}),
        pod("web-on-1", {"app": "web"}, on="plain-1"),
    ]
    return cluster(nodes, placed, namespaces={"default": {}, "ml": {"purpose": "training"}})


def sample_pods(keys: Collection[str] = ()) -> Sequence[Pod]:
    """Pods to place: of teams and of none, with requests, tolerations, affinity and constraints. keys: see above."""
    blue, green = _labels("blue", keys), _labels("green", keys)
    spread = {
        "maxSkew": 1,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    apart = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    anti_affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    return [
        pod("blue", {**blue, "app": "web"}, requests={"cpu": "1"}, topologySpreadConstraints=[spread]),
        pod("green", {**green, "app": "db"}, requests={"cpu": "2"}, affinity=anti_affinity),
        pod("bare"),
        pod("train", {"app": "train"}, namespace="ml", requests={_GPU: "2"}, tolerations=[{"operator": "Exists"}]),
        pod("urgent", blue, priority=1000, nodeSelector={_ZONE: "b"}),
    ]


def _labels(value: str, keys: Collection[str]) -> dict[str, str]:
    return dict.fromkeys(("team", *keys), value)
