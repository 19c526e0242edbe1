"""The node to preempt on: kube-scheduler's pickOneNodeForPreemption (fact 32)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from berth.scheduling.preemption.priority import by_importance, priority_of
from berth.scheduling.preemption.victims import Victims

Damage = tuple[int, int, int, int, float]

_OFFSET = 1 << 31
"""Added to every priority, so that each victim more makes a larger sum, whatever its priority."""


class Worse(StrEnum):
    """Why a node is not the one, by the criterion that decided, in their order. TIED: none did."""

    VIOLATIONS = "more victims there violate a PodDisruptionBudget"
    HIGHEST = "a victim there has a higher priority"
    SUM = "the victims' priorities there make a higher sum"
    NUMBER = "more victims there"
    START = "the victims there started earlier"
    TIED = "just as good"


_CRITERIA = (Worse.VIOLATIONS, Worse.HIGHEST, Worse.SUM, Worse.NUMBER, Worse.START)


def worse(damage: Damage, least: Damage) -> Worse:
    """Why a node with this damage is not taken where one with the least is."""
    differing = (each for each, one, other in zip(_CRITERIA, damage, least, strict=True) if one != other)
    return next(differing, Worse.TIED)


def least_damage(candidates: Mapping[str, Victims]) -> list[str]:
    """The nodes that are best by all criteria, by name. kube-scheduler takes any one of them, Berth the first."""
    if not candidates:
        return []
    damages = {name: damage(victims) for name, victims in candidates.items()}
    least = min(damages.values())
    return sorted(name for name, each in damages.items() if each == least)


def damage(victims: Victims) -> Damage:
    """What evicting them means, the criteria in their order, each such that less is better.

    Budgets violated; the highest priority; the sum of the priorities; the number of pods; how early the first of those
    with the highest priority has started.
    """
    priorities = [priority_of(pod) for pod in victims.pods]
    negated, start = min(map(by_importance, victims.pods))
    return victims.num_pdb_violations, -negated, sum(priorities) + _OFFSET * len(priorities), len(priorities), -start
