"""Nodes."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.features import Feature
from tests.parity.generator.images import image_sizes, node_images
from tests.parity.generator.labels import HOSTNAME, RACK, ZONE
from tests.parity.generator.quantities import BELOW_MILLI, EXTENDED_RESOURCES, GI, HUGE, HUGE_PAGES, Amounts, quantities
from tests.parity.generator.taints import UNSCHEDULABLE, taints

GENERATIONS = ("3", "7", "10", "007", "0", "9223372036854775807", "9223372036854775808", "1e3", "v5", "")
"""Label values for Gt and Lt: most are integers."""


def nodes(draw: Draw, features: frozenset[Feature], count: int) -> list[dict[str, Any]]:
    """Draw nodes n0, n1, … in a few zones and racks."""
    sizes = image_sizes(draw)
    alike = draw.chance(0.3)
    capacity = _allocatable(draw, features)
    made = []
    for index in range(count):
        allocatable = capacity if alike else _allocatable(draw, features)
        made.append(_node(draw, features, f"n{index}", allocatable, sizes))
    return made


def _node(
    draw: Draw, features: frozenset[Feature], name: str, allocatable: dict[str, str], sizes: dict[str, int]
) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    node_taints = taints(draw, hard=Feature.TAINTS in features, soft=Feature.PREFERRED_TAINTS in features)
    if Feature.UNSCHEDULABLE in features and draw.chance(0.4):
        spec["unschedulable"] = True
        if draw.chance(0.5):  # the node controller adds this taint a moment later
            node_taints.append({"key": UNSCHEDULABLE, "effect": "NoSchedule"})
    if node_taints:
        spec["taints"] = node_taints
    status: dict[str, Any] = {"conditions": [{"type": "Ready", "status": "True"}]}
    if not draw.chance(0.02):  # else the kubelet has not reported yet
        status["capacity"] = status["allocatable"] = allocatable
    if Feature.IMAGES in features:
        status["images"] = node_images(draw, sizes)
    metadata = {"name": name, "uid": f"uid-{name}", "labels": _labels(draw, name)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _labels(draw: Draw, name: str) -> dict[str, str]:
    labels = {}
    if draw.chance(0.97):
        labels[HOSTNAME] = name
    if draw.chance(0.9):
        labels[ZONE] = draw.one_of(("z1", "z2", "z3"))
    if draw.chance(0.75):
        labels[RACK] = draw.one_of(("r1", "r2", ""))
    if draw.chance(0.7):
        labels["disk"] = draw.one_of(("ssd", "hdd", ""))
    if draw.chance(0.7):
        labels["generation"] = draw.one_of(GENERATIONS)
    return {} if draw.chance(0.03) else labels


def _allocatable(draw: Draw, features: frozenset[Feature]) -> dict[str, str]:
    amounts: Amounts = _little(draw) if Feature.FULL_NODES in features else _plenty(draw)
    if Feature.EXTENDED_RESOURCES not in features:
        amounts = {name: amount for name, amount in amounts.items() if name not in (*EXTENDED_RESOURCES, HUGE_PAGES)}
    resources = quantities(draw, amounts)
    if Feature.ODD_QUANTITIES in features and Feature.FULL_NODES in features:
        _exaggerate(draw, resources)
    return resources


def _plenty(draw: Draw) -> dict[str, int]:
    return {
        "cpu": draw.one_of((16000, 24000, 32500)),
        "memory": draw.one_of((16, 24, 64)) * GI,
        "pods": draw.one_of((20, 110)),
        "ephemeral-storage": draw.one_of((50, 100)) * GI,
        HUGE_PAGES: 32 * GI,
        **{name: draw.between(12, 16) for name in EXTENDED_RESOURCES},
    }


def _little(draw: Draw) -> dict[str, int]:
    """Draw resources for a few pods; some may be missing."""
    amounts = {
        "cpu": draw.one_of((2000, 2500, 3000, 4500)),
        "memory": draw.one_of((2, 3, 4, 6)) * GI,
        "pods": draw.one_of((2, 4, 6, 110)),
        "ephemeral-storage": draw.one_of((5, 10, 20)) * GI,
        HUGE_PAGES: draw.one_of((0, 1, 4)) * GI,
        **{name: draw.between(0, 5) for name in EXTENDED_RESOURCES},
    }
    for name in ("ephemeral-storage", HUGE_PAGES, *EXTENDED_RESOURCES):
        if draw.chance(0.06):
            del amounts[name]
    return amounts


def _exaggerate(draw: Draw, resources: dict[str, str]) -> None:
    """Set amounts above int64 or below one thousandth. Only for cases without scores, which would overflow."""
    if draw.chance(0.15):
        resources["memory"] = draw.one_of(HUGE)
    if draw.chance(0.1):
        resources["cpu"] = draw.one_of(("9223372036854775", "1E", *BELOW_MILLI))
