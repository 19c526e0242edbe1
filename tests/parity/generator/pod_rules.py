"""Topology spread constraints, and affinity and anti-affinity between pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import (
    HOSTNAME,
    NAMESPACE_LABELS,
    NAMESPACES,
    POD_LABELS,
    RACK,
    TOPOLOGY_KEYS,
    ZONE,
    label_selector,
    merge_label_keys,
    optional_label_selector,
    selector_keys,
)


def constraints(draw: Draw, pod_labels: Mapping[str, str], *, hard: bool, soft: bool) -> list[dict[str, Any]]:
    """Draw one to three constraints, unique by topology key and whenUnsatisfiable."""
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


def required_terms(draw: Draw, pod_labels: Mapping[str, str], most: int = 2) -> list[dict[str, Any]]:
    """Draw PodAffinityTerms; the pod itself often matches one."""
    return [_term(draw, pod_labels) for _ in range(draw.weighted({1: 3, most: 1}))]


def preferred_terms(draw: Draw, pod_labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Draw one to three WeightedPodAffinityTerms."""
    weights = (1, 3, 10, 50, 100)
    return [
        {"weight": draw.one_of(weights), "podAffinityTerm": _term(draw, pod_labels)} for _ in range(draw.between(1, 3))
    ]


def _term(draw: Draw, pod_labels: Mapping[str, str]) -> dict[str, Any]:
    term: dict[str, Any] = {"topologyKey": draw.one_of((ZONE, HOSTNAME, RACK))}
    if pod_labels and draw.chance(0.35):
        key = draw.one_of(list(pod_labels))
        selector: dict[str, Any] | None = {"matchLabels": {key: pod_labels[key]}}
    else:
        selector = optional_label_selector(draw, POD_LABELS)
    if selector is not None:
        term["labelSelector"] = selector
    if draw.chance(0.25):
        term["namespaces"] = draw.some_of(NAMESPACES, 1, 2)
    if draw.chance(0.3):
        term["namespaceSelector"] = label_selector(draw, NAMESPACE_LABELS)
    if draw.chance(0.2):
        _add_label_keys(draw, term, pod_labels)
    return term


def _add_label_keys(draw: Draw, term: dict[str, Any], pod_labels: Mapping[str, str]) -> None:
    """Add matchLabelKeys and mismatchLabelKeys as they are stored: merged into the selector."""
    selector = term.get("labelSelector")
    if selector is None:
        return
    free = [key for key in POD_LABELS if key not in selector_keys(selector)]
    match = draw.some_of(free, 0, 1)
    mismatch = draw.some_of([key for key in POD_LABELS if key not in match], 0, 1)
    if match:
        term["matchLabelKeys"] = match
    if mismatch:
        term["mismatchLabelKeys"] = mismatch
    merge_label_keys(selector, pod_labels, match, mismatch)
