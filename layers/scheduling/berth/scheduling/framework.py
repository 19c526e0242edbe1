"""The extension points of a plugin: kube-scheduler's framework, reduced to what an extender is asked.

A plugin is built once from validated arguments. `filter` and `score` look at one pod and one node; they read nothing
else and keep nothing, so a verdict can be remembered for as long as neither changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.status import Status


class Plugin(ABC):
    """What every plugin has: a name, and the part of the pod it reads."""

    name: str

    @abstractmethod
    def shape(self, pod: Pod) -> Hashable:
        """All that the plugin reads of the pod: pods of equal shape get equal verdicts and scores."""


class FilterPlugin(Plugin):
    """Says of one node whether the pod may run there (feasibility)."""

    @abstractmethod
    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        """SUCCESS, or a code and constant reasons."""


class ScorePlugin(Plugin):
    """Says of one feasible node how much the pod should run there (viability)."""

    @abstractmethod
    def score(self, pod: Pod, node: NodeInfo) -> int:
        """An integer, higher is better; called for nodes that passed every filter of the profile."""
