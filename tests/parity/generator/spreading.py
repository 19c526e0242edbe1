"""Topology spread constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import (
    POD_LABELS,
    TOPOLOGY_KEYS,
    merge_label_keys,
    optional_label_selector,
    selector_keys,
)


def constraints(draw: Draw, pod_labels: Mapping[str, str], *, hard: bool, soft: bool) -> list[dict[str, Any]]:
    """One to three constraints, unique by topology key and whenUnsatisfiable."""
    actions = (*(("DoNotSchedule",) if hard else ()), *(("ScheduleAnyway",) if soft else ()))
    pairs = [(key, action) for key in TOPOLOGY_KEYS for action in actions]
    return [_constraint(draw, pod_labels, key, action) for key, action in draw.some_of(pairs, 1, 3)]


def _constraint(draw: Draw, pod_labels: Mapping[str, str], key: str, action: str) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": draw.weighted({1: 6, 2: 3, 5: 1}),
        "topologyKey": key,
        "whenUnsatisfiable": action,
    }
    if pod_labels and draw.chance(0.6):
        label = draw.one_of(list(pod_labels))
        selector: dict[str, Any] | None = {"matchLabels": {label: pod_labels[label]}}
    else:
        selector = optional_label_selector(draw, POD_LABELS)
    if selector is not None:
        constraint["labelSelector"] = selector
    if action == "DoNotSchedule" and draw.chance(0.3):
        constraint["minDomains"] = draw.between(1, 5)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        value = draw.weighted({"": 4, "Honor": 3, "Ignore": 3})
        if value:
            constraint[policy] = value
    if selector is not None and draw.chance(0.3):
        _add_match_label_keys(draw, constraint, selector, pod_labels)
    return constraint


def _add_match_label_keys(
    draw: Draw, constraint: dict[str, Any], selector: dict[str, Any], pod_labels: Mapping[str, str]
) -> None:
    free = [key for key in POD_LABELS if key not in selector_keys(selector)]
    match = draw.some_of(free, 1, 2)
    if not match:
        return
    constraint["matchLabelKeys"] = match
    if draw.chance(0.6):  # since 1.34 an API server merges them; the scheduler still does, for older pods
        merge_label_keys(selector, pod_labels, match, [])
