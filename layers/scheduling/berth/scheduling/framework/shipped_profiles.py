"""The profiles that Berth ships, and the function that builds a profile from plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from berth.scheduling.framework.plugin import ClusterFilterPlugin, ClusterScorePlugin, FilterPlugin, Plugin, ScorePlugin
from berth.scheduling.framework.profile import AnyFilter, AnyScore, Profile, Scale


@dataclass(frozen=True, slots=True)
class Composition:
    """The plugins of a profile, in order, with their weights, and the scale of its scores. A weight has an effect only
    if the plugin scores."""

    plugins: Mapping[str, int] = field(default_factory=dict)
    scale: Scale = Scale.EXTENDER


LABEL_PRIORITY = "label-priority"
RESOURCE_SEGREGATION = "resource-segregation"
MANAGED_RESOURCES = "managed-resources"
FULL = "full"

SHIPPED: Mapping[str, Composition] = {
    # The score is the label's integer, not scaled.
    LABEL_PRIORITY: Composition({"NodePriorityLabel": 1}, Scale.AS_IS),
    RESOURCE_SEGREGATION: Composition({"ResourceSegregation": 1}),
    MANAGED_RESOURCES: Composition({"ManagedResources": 1}),
    # kube-scheduler's default plugins, order and weights, without volumes and dynamic resources. Berth adds NodeReady.
    FULL: Composition(
        {
            "NodeUnschedulable": 1,
            "NodeName": 1,
            "TaintToleration": 3,
            "NodeAffinity": 2,
            "NodePorts": 1,
            "NodeResourcesFit": 1,
            "NodeReady": 1,
            "PodTopologySpread": 2,
            "InterPodAffinity": 2,
            "NodeResourcesBalancedAllocation": 1,
            "ImageLocality": 1,
        }
    ),
}
"""The shipped profiles, by name. A profile that a user defines cannot have these names."""


SCHEDULER_FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""kube-scheduler's filter plugins that Berth implements."""

COUNTED_FILTER = "ManagedResources"
"""The plugin that filters by counted resources."""

FLOATING_FILTER = "FloatingResources"
"""The plugin that filters by floating pools. It is added to profiles with COUNTED_FILTER if there are such pools."""


def build(name: str, scale: Scale, plugins: Sequence[tuple[Plugin, int]]) -> Profile:
    """Build a profile of these plugins with their weights. A plugin that filters and scores is used for both."""
    filters: list[AnyFilter] = []
    scores: list[tuple[AnyScore, int]] = []
    for plugin, weight in plugins:
        if isinstance(plugin, FilterPlugin | ClusterFilterPlugin):
            filters.append(plugin)
        if isinstance(plugin, ScorePlugin | ClusterScorePlugin):
            scores.append((plugin, weight))
    return Profile(name, tuple(filters), tuple(scores), scale)
