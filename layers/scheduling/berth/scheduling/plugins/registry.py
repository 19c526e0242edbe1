"""The plugins there are: one map from a name to what is built from which arguments."""

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
class Registered:
    """A plugin's constructor and the type of its arguments."""

    plugin: Callable[[Any], Plugin]
    args: type[Args]


REGISTRY: Mapping[str, Registered] = {
    node_unschedulable.NAME: Registered(node_unschedulable.NodeUnschedulable, NoArgs),
    node_name.NAME: Registered(node_name.NodeName, NoArgs),
    taint_toleration.NAME: Registered(taint_toleration.TaintToleration, NoArgs),
    node_affinity.NAME: Registered(node_affinity.NodeAffinity, node_affinity.NodeAffinityArgs),
    node_ports.NAME: Registered(node_ports.NodePorts, NoArgs),
    node_resources_fit.NAME: Registered(node_resources_fit.NodeResourcesFit, node_resources_fit.NodeResourcesFitArgs),
    pod_topology_spread.PodTopologySpread.name: Registered(
        pod_topology_spread.PodTopologySpread, pod_topology_spread.PodTopologySpreadArgs
    ),
    inter_pod_affinity.InterPodAffinity.name: Registered(
        inter_pod_affinity.InterPodAffinity, inter_pod_affinity.InterPodAffinityArgs
    ),
    node_resources_balanced_allocation.NAME: Registered(
        node_resources_balanced_allocation.NodeResourcesBalancedAllocation,
        node_resources_balanced_allocation.NodeResourcesBalancedAllocationArgs,
    ),
    image_locality.NAME: Registered(image_locality.ImageLocality, NoArgs),
    node_ready.NAME: Registered(node_ready.NodeReady, NoArgs),
    node_priority_label.NAME: Registered(
        node_priority_label.NodePriorityLabel, node_priority_label.NodePriorityLabelArgs
    ),
    resource_segregation.NAME: Registered(
        resource_segregation.ResourceSegregation, resource_segregation.ResourceSegregationArgs
    ),
    managed_resources.NAME: Registered(managed_resources.ManagedResources, managed_resources.ManagedResourcesArgs),
}
"""In-tree plugins first, in kube-scheduler's order."""
