"""Priorities of pods, and the classes that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from berth.scheduling.objects import Pod, PriorityClass

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
NEVER = "Never"

NO_CLASS = PriorityClass("", 0, preemption_policy=PREEMPT_LOWER_PRIORITY)
"""The class of pods that name no class, in a cluster without a default class."""

_BUILT_IN = {
    name: PriorityClass(name, value, preemption_policy=PREEMPT_LOWER_PRIORITY)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}


def priority_of(pod: Pod) -> int:
    """The priority that preemption compares. It is the number in the pod: the scheduler reads no PriorityClass."""
    return pod.spec.priority or 0


def by_importance(pod: Pod) -> tuple[int, float]:
    """A sort key, the most important pod first: by priority, then by start time. A pod that has not started is last."""
    return -(pod.spec.priority or 0), inf if pod.start_time is None else pod.start_time


def priority_class_of(name: str, classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """The class of a pod that names this one, as the API server's admission finds it; None where there is none.

    Only for manifests: a stored pod has its number. Without a name the default class counts; of several, the lowest.
    """
    if name:
        return classes.get(name) or _BUILT_IN.get(name)
    defaults = [each for each in classes.values() if each.global_default]
    return min(defaults, key=lambda each: each.value, default=NO_CLASS)
