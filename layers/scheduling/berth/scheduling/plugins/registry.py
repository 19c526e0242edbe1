"""The registry of plugins: by name, the constructor and the type of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from berth.scheduling.framework.plugin import Plugin
from berth.scheduling.plugins import (
    image_locality,
    inter_pod_affinity,
    managed_resources,
    node_affinity,
    node_name,
    node_ports,
    node_priority_label,
    node_ready,
    node_resources_balanced_allocation,
    node_resources_fit,
    node_unschedulable,
    pod_topology_spread,
    resource_segregation,
    taint_toleration,
)
from berth.scheduling.plugins.arguments import Args, NoArgs


@dataclass(frozen=True, slots=True)
class PluginFactory:
    """A plugin's constructor and the type of its arguments."""

    plugin: Callable[[Any], Plugin]
    args: type[Args]


REGISTRY: Mapping[str, PluginFactory] = {
    node_unschedulable.NAME: PluginFactory(node_unschedulable.NodeUnschedulable, NoArgs),
    node_name.NAME: PluginFactory(node_name.NodeName, NoArgs),
    taint_toleration.NAME: PluginFactory(taint_toleration.TaintToleration, NoArgs),
    node_affinity.NAME: PluginFactory(node_affinity.NodeAffinity, node_affinity.NodeAffinityArgs),
    node_ports.NAME: PluginFactory(node_ports.NodePorts, NoArgs),
    node_resources_fit.NAME: PluginFactory(
        node_resources_fit.NodeResourcesFit, node_resources_fit.NodeResourcesFitArgs
    ),
    pod_topology_spread.PodTopologySpread.name: PluginFactory(
        pod_topology_spread.PodTopologySpread, pod_topology_spread.PodTopologySpreadArgs
    ),
    inter_pod_affinity.InterPodAffinity.name: PluginFactory(
        inter_pod_affinity.InterPodAffinity, inter_pod_affinity.InterPodAffinityArgs
    ),
    node_resources_balanced_allocation.NAME: PluginFactory(
        node_resources_balanced_allocation.NodeResourcesBalancedAllocation,
        node_resources_balanced_allocation.NodeResourcesBalancedAllocationArgs,
    ),
    image_locality.NAME: PluginFactory(image_locality.ImageLocality, NoArgs),
    node_ready.NAME: PluginFactory(node_ready.NodeReady, NoArgs),
    node_priority_label.NAME: PluginFactory(
        node_priority_label.NodePriorityLabel, node_priority_label.NodePriorityLabelArgs
    ),
    resource_segregation.NAME: PluginFactory(
        resource_segregation.ResourceSegregation, resource_segregation.ResourceSegregationArgs
    ),
    managed_resources.NAME: PluginFactory(managed_resources.ManagedResources, managed_resources.ManagedResourcesArgs),
}
"""In-tree plugins first, in kube-scheduler's order."""
