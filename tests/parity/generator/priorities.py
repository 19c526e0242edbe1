"""Priorities, PriorityClasses and PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import NAMESPACE_SHARES, POD_LABELS, label_selector

CLASSES = {"low": -10, "usual": 0, "high": 100, "urgent": 1000}

ALL_CLASSES = {"lowest": -(2**31), **CLASSES}
"""kube-scheduler adds an offset to each priority before it sums them, so the lowest possible priority adds 0."""


def priority_classes() -> list[dict[str, Any]]:
    """Return the classes that pods refer to; the pods contain the value."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "uid": f"uid-class-{name}"},
            "value": value,
            "globalDefault": name == "usual",
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in ALL_CLASSES.items()
    ]


def set_priority(draw: Draw, spec: dict[str, Any], names: tuple[str, ...]) -> None:
    """Set the fields that admission writes into a pod of one of these classes; rarely none, as in old clusters."""
    if draw.chance(0.05):
        return
    name = draw.one_of(names)
    spec["priorityClassName"] = name
    spec["priority"] = CLASSES[name]
    spec["preemptionPolicy"] = "PreemptLowerPriority"


def disruption_budgets(draw: Draw, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw budgets that are often used up and mostly select existing pods."""
    return [_budget(draw, f"pdb{index}", pods) for index in range(draw.between(1, 4))]


def _budget(draw: Draw, name: str, pods: list[dict[str, Any]]) -> dict[str, Any]:
    covered = draw.one_of(pods)["metadata"] if pods else {}
    pod_labels = covered.get("labels")
    spec: dict[str, Any] = {"minAvailable": 1}
    if pod_labels and draw.chance(0.6):
        key = draw.one_of(list(pod_labels))
        spec["selector"] = {"matchLabels": {key: pod_labels[key]}}
    elif not draw.chance(0.1):  # else no selector, which selects nothing
        spec["selector"] = label_selector(draw, POD_LABELS)
    status: dict[str, Any] = {
        "disruptionsAllowed": draw.weighted({0: 4, 1: 4, 2: 1}),
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    if pods and draw.chance(0.3):
        disrupted = draw.some_of([pod["metadata"]["name"] for pod in pods], 1, 6)
        status["disruptedPods"] = dict.fromkeys(disrupted, "2026-06-01T00:00:00Z")
    namespace = covered["namespace"] if covered and draw.chance(0.7) else draw.weighted(NAMESPACE_SHARES)
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }
