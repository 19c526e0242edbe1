"""The profiles that Berth ships, and the function that builds a profile from plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.framework.plugin import ClusterFilterPlugin, ClusterScorePlugin, FilterPlugin, Plugin, ScorePlugin
from berth.scheduling.framework.profile import AnyFilter, AnyScore, Profile, Scale


@dataclass(frozen=True, slots=True)
class WeightedPlugin:
    """A plugin of a profile. The weight applies to its scores, if it has any."""

    name: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Composition:
    """The plugins of a profile, in order, and the scale of its scores."""

    plugins: tuple[WeightedPlugin, ...] = ()
    scale: Scale = Scale.EXTENDER


LABEL_PRIORITY = "label-priority"
RESOURCE_SEGREGATION = "resource-segregation"
MANAGED_RESOURCES = "managed-resources"
FULL = "full"

SHIPPED: Mapping[str, Composition] = {
    # The score is the label's integer, not scaled.
    LABEL_PRIORITY: Composition((WeightedPlugin("NodePriorityLabel"),), Scale.AS_IS),
    RESOURCE_SEGREGATION: Composition((WeightedPlugin("ResourceSegregation"),)),
    MANAGED_RESOURCES: Composition((WeightedPlugin("ManagedResources"),)),
    # kube-scheduler's default plugins with its weights, in its order, without volumes and dynamic resources; NodeReady.
    FULL: Composition(
        (
            WeightedPlugin("NodeUnschedulable"),
            WeightedPlugin("NodeName"),
            WeightedPlugin("TaintToleration", 3),
            WeightedPlugin("NodeAffinity", 2),
            WeightedPlugin("NodePorts"),
            WeightedPlugin("NodeResourcesFit"),
            WeightedPlugin("NodeReady"),
            WeightedPlugin("PodTopologySpread", 2),
            WeightedPlugin("InterPodAffinity", 2),
            WeightedPlugin("NodeResourcesBalancedAllocation"),
            WeightedPlugin("ImageLocality"),
        )
    ),
}
"""The shipped profiles, by name. A user's own profile has another name."""


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


def build(name: str, scale: Scale, plugins: Sequence[tuple[Plugin, int]]) -> Profile:
    """Build a profile of these plugins with their weights. Each plugin is used at every extension point that it has."""
    filters: list[AnyFilter] = []
    scores: list[tuple[AnyScore, int]] = []
    for plugin, weight in plugins:
        if isinstance(plugin, FilterPlugin | ClusterFilterPlugin):
            filters.append(plugin)
        if isinstance(plugin, ScorePlugin | ClusterScorePlugin):
            scores.append((plugin, weight))
    return Profile(name, tuple(filters), tuple(scores), scale)
