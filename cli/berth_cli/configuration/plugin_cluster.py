"""The cluster on which custom plugins are checked: a dump or a sample."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.configuration.plugin_config import PluginConfig
from berth.scheduling.fields.reading import Object
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.cluster import read_cluster, read_dump, trim
from berth_cli.terminal.input_files import display_name
from berth_testing import cluster, node, pod

SAMPLE = "a sample cluster"

_ZONE = "topology.kubernetes.io/zone"
_GPU = "nvidia.com/gpu"


def checked_cluster(dump: Path | None, configuration: BerthConfiguration) -> tuple[Snapshot, Sequence[Pod]]:
    """Return the cluster of a dump, or a sample cluster, and the pods to place, which include the pods on nodes. For a
    dump without pods, return the sample's pods. configuration: its plugin arguments become label keys of the sample.
    Raises InvalidInput.
    """
    keys = _label_keys(configuration)
    if dump is None:
        return _sample_cluster(keys), _sample_pods(keys)
    counting = configuration.counting
    objects = list(read_dump(dump))
    found = read_cluster([trim(each, counting) for each in objects], display_name(dump))
    pods = [*found.pods, *_unplaced(objects)]
    return found.snapshot, pods or _sample_pods(keys)


def plugin_configs(configuration: BerthConfiguration) -> list[PluginConfig]:
    """Return the plugin arguments of all profiles, in order: `build_plugin` uses the last arguments of a plugin."""
    definitions = configuration.definitions.values()
    return [*configuration.plugin_config, *(each for definition in definitions for each in definition.plugin_config)]


def _label_keys(configuration: BerthConfiguration) -> list[str]:
    values = [value for config in plugin_configs(configuration) for value in config.args.model_dump().values()]
    return sorted({value for value in values if isinstance(value, str) and value})


def _unplaced(objects: Sequence[Object]) -> Iterator[Pod]:
    """Yield the pods on nodes as pending pods, with all fields."""
    for obj in objects:
        spec = obj.get("spec")
        if obj.get("kind") == "Pod" and isinstance(spec, dict) and spec.get("nodeName"):
            read = read_pod({**obj, "spec": {**spec, "nodeName": ""}})
            if isinstance(read, Pod):
                yield read


def _sample_cluster(keys: Collection[str]) -> Snapshot:
    """Make nodes in three zones, some with a team label, a taint or a GPU, and pods on most of them. keys: the label
    keys that the plugin reads."""
    blue, green = _team("blue", keys), _team("green", keys)
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


def _sample_pods(keys: Collection[str]) -> Sequence[Pod]:
    """Make pods to place, with and without a team label, with requests, tolerations, affinity and constraints."""
    blue, green = _team("blue", keys), _team("green", keys)
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


def _team(value: str, keys: Collection[str]) -> dict[str, str]:
    return dict.fromkeys(("team", *keys), value)
