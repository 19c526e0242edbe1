"""The registry of plugins: the constructor and the type of the arguments of each plugin, by its name.

A plugin's module is imported when the plugin is looked up: a cold start imports only the plugins of its profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from berth.scheduling.framework.plugin import Plugin
from berth.scheduling.plugins.arguments import Args, NoArgs

SHIPPED_PLUGINS: Mapping[str, str] = {
    "NodeUnschedulable": "node_taints",
    "NodeName": "node_affinity",
    "TaintToleration": "node_taints",
    "NodeAffinity": "node_affinity",
    "NodePorts": "node_ports",
    "NodeResourcesFit": "node_resources_fit",
    "PodTopologySpread": "pod_topology_spread",
    "InterPodAffinity": "inter_pod_affinity",
    "NodeResourcesBalancedAllocation": "resource_allocation",
    "ImageLocality": "image_locality",
    "NodeReady": "node_taints",
    "NodePriorityLabel": "node_priority_label",
    "ResourceSegregation": "resource_segregation",
    "ManagedResources": "managed_resources",
    "FloatingResources": "floating_resources",
}
"""The plugins that Berth ships, each with its module. The module has a class with the plugin's name, and `<name>Args`
if the plugin has arguments. kube-scheduler's plugins are first, in its order."""


@dataclass(frozen=True, slots=True)
class PluginFactory:
    plugin: Callable[[Any], Plugin]
    args: type[Args]


@cache
def shipped_plugin(name: str) -> PluginFactory:
    module = import_module(f"{__package__}.{SHIPPED_PLUGINS[name]}")
    return PluginFactory(getattr(module, name), getattr(module, f"{name}Args", NoArgs))
