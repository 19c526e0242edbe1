"""Labels and selectors over a vocabulary so small that they often match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.generator.draw import Draw

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
RACK = "example.com/rack"
TOPOLOGY_KEYS = (ZONE, HOSTNAME, RACK)

POD_LABELS: Mapping[str, tuple[str, ...]] = {
    "app": ("web", "db", "cache"),
    "tier": ("front", "back", ""),
    "pod-template-hash": ("5d4f", "7c9b"),
}
NAMESPACE_LABELS: Mapping[str, tuple[str, ...]] = {"team": ("red", "blue"), "stage": ("prod", "test")}
NAMESPACE_SHARES: Mapping[str, float] = {"default": 7, "red": 2, "blue": 1}
NAMESPACES = tuple(NAMESPACE_SHARES)


def labels(draw: Draw, vocabulary: Mapping[str, tuple[str, ...]], density: float = 0.7) -> dict[str, str]:
    """Draw some keys of the vocabulary, each with one of its values."""
    return {key: draw.one_of(values) for key, values in vocabulary.items() if draw.chance(density)}


def label_selector(draw: Draw, vocabulary: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """Draw a metav1.LabelSelector: often one label, sometimes expressions, rarely empty, which selects everything."""
    if draw.chance(0.07):
        return {}
    selector: dict[str, Any] = {}
    if draw.chance(0.7):
        key = draw.one_of(list(vocabulary))
        selector["matchLabels"] = {key: draw.one_of(vocabulary[key])}
    if not selector or draw.chance(0.3):
        selector["matchExpressions"] = [_expression(draw, vocabulary) for _ in range(draw.weighted({1: 4, 2: 1}))]
    return selector


def optional_label_selector(draw: Draw, vocabulary: Mapping[str, tuple[str, ...]]) -> dict[str, Any] | None:
    """Draw a selector like label_selector; rarely None, which selects nothing."""
    return None if draw.chance(0.04) else label_selector(draw, vocabulary)


def _expression(draw: Draw, vocabulary: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    key = draw.one_of([*vocabulary, "absent"])
    operator = draw.one_of(("In", "NotIn", "Exists", "DoesNotExist"))
    if operator in ("In", "NotIn"):
        values = draw.some_of(vocabulary.get(key, ("x",)), 1, 2)
        return {"key": key, "operator": operator, "values": values}
    return {"key": key, "operator": operator}


def merge_label_keys(
    selector: dict[str, Any] | None, pod_labels: Mapping[str, str], match: list[str], mismatch: list[str]
) -> None:
    """Add the expressions that an API server derives from matchLabelKeys and mismatchLabelKeys when it stores a pod."""
    if selector is None:
        return
    for keys, operator in ((match, "In"), (mismatch, "NotIn")):
        for key in keys:
            if key in pod_labels:
                expression = {"key": key, "operator": operator, "values": [pod_labels[key]]}
                selector.setdefault("matchExpressions", []).append(expression)


def selector_keys(selector: dict[str, Any] | None) -> set[str]:
    if selector is None:
        return set()
    expressions = selector.get("matchExpressions", [])
    return set(selector.get("matchLabels", {})) | {expression["key"] for expression in expressions}
