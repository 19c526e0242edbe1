"""A profile: the plugins that decide for a pod, in order, with their weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from berth.scheduling.framework import FilterPlugin, ScorePlugin
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.status import SUCCESS, Status, undecidable


@dataclass(frozen=True, slots=True)
class Profile:
    """`scores` are pairs of plugin and weight; the sum of weighted scores is the answer, as it is."""

    name: str
    filters: tuple[FilterPlugin, ...]
    scores: tuple[tuple[ScorePlugin, int], ...]

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        """The first status that is not SUCCESS, as in kube-scheduler."""
        if node.defect is not None:
            return undecidable("", node.defect)
        for plugin in self.filters:
            status = plugin.filter(pod, node)
            if status is not SUCCESS:
                return status
        return SUCCESS

    def score(self, pod: Pod, node: NodeInfo) -> int:
        """Only for nodes that passed `filter`."""
        return sum(plugin.score(pod, node) * weight for plugin, weight in self.scores)

    def shape(self, pod: Pod) -> Hashable:
        """All that this profile reads of the pod."""
        return (
            tuple(plugin.shape(pod) for plugin in self.filters),
            tuple(plugin.shape(pod) for plugin, _ in self.scores),
        )
