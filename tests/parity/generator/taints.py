"""Taints of nodes and tolerations of pods."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw

KEYS = ("dedicated", "example.com/gpu", "spot")
VALUES = ("", "a", "b")
HARD_EFFECTS = ("NoSchedule", "NoExecute")
SOFT_EFFECT = "PreferNoSchedule"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

NODE_FAILURE_TOLERATIONS = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
]
"""The tolerations that the admission plugin DefaultTolerationSeconds adds to every pod."""


def taints(draw: Draw, *, hard: bool, soft: bool) -> list[dict[str, Any]]:
    """Draw taints of a node, unique by key and effect."""
    effects = (*(HARD_EFFECTS if hard else ()), *((SOFT_EFFECT,) if soft else ()))
    pairs = [(key, effect) for key in KEYS for effect in effects]
    if not pairs or draw.chance(0.3):
        return []
    return [_taint(draw, key, effect) for key, effect in draw.some_of(pairs, 1, 3 if soft else 2)]


def _taint(draw: Draw, key: str, effect: str) -> dict[str, Any]:
    taint = {"key": key, "effect": effect}
    value = draw.one_of(VALUES)
    if value:
        taint["value"] = value
    return taint


def tolerations(draw: Draw, *, unschedulable: bool) -> list[dict[str, Any]]:
    """Draw tolerations of a pod, mostly with the two that an API server adds."""
    drawn = [_toleration(draw) for _ in range(draw.weighted({0: 2, 1: 3, 2: 3, 3: 2}))]
    if unschedulable:
        drawn.append(_unschedulable_toleration(draw))
    if draw.chance(0.8):
        drawn.extend(NODE_FAILURE_TOLERATIONS)
    return drawn


def _toleration(draw: Draw) -> dict[str, Any]:
    if draw.chance(0.06):
        toleration = {"operator": "Exists"}  # an empty key: everything
    elif draw.chance(0.5):
        toleration = {"key": draw.one_of(KEYS), "operator": "Exists"}
    else:
        toleration = {"key": draw.one_of(KEYS), "operator": "Equal"}
        value = draw.one_of(VALUES)
        if value:
            toleration["value"] = value
    effect = draw.one_of(("", "", *HARD_EFFECTS, SOFT_EFFECT))
    if effect:
        toleration["effect"] = effect
    return toleration


def _unschedulable_toleration(draw: Draw) -> dict[str, Any]:
    toleration = {"key": UNSCHEDULABLE, **draw.one_of(({"operator": "Exists"}, {"operator": "Equal"}))}
    if toleration["operator"] == "Equal" and draw.chance(0.2):
        toleration["value"] = "a"  # does not tolerate the taint, which has no value
    if draw.chance(0.8):
        toleration["effect"] = draw.one_of(("NoSchedule", "NoSchedule", "NoExecute"))
    return toleration
