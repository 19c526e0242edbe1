"""The features of a case: each case has some of them, so that all combinations occur."""

from __future__ import annotations

from enum import StrEnum

from tests.parity.generator.draw import Draw


class Family(StrEnum):
    """A family of cases, named after the part of the scheduling cycle that its cases compare."""

    FILTER = "filter"
    SCORE = "score"
    PREEMPTION = "preemption"


class Feature(StrEnum):
    """A part of the scheduling model that a case exercises."""

    UNSCHEDULABLE = "unschedulable"
    NODE_NAME = "node-name"
    TAINTS = "taints"
    PREFERRED_TAINTS = "preferred-taints"
    NODE_AFFINITY = "node-affinity"
    PREFERRED_NODE_AFFINITY = "preferred-node-affinity"
    PORTS = "ports"
    FULL_NODES = "full-nodes"
    EXTENDED_RESOURCES = "extended-resources"
    INIT_CONTAINERS = "init-containers"
    POD_LEVEL_RESOURCES = "pod-level-resources"
    OVERHEAD = "overhead"
    RESIZE = "resize"
    ODD_QUANTITIES = "odd-quantities"
    SPREADING = "spreading"
    PREFERRED_SPREADING = "preferred-spreading"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    PREFERRED_AFFINITY = "preferred-affinity"
    IMAGES = "images"
    NOMINATED = "nominated"
    TERMINATING = "terminating"
    PRIORITIES = "priorities"
    DISRUPTION_BUDGETS = "disruption-budgets"
    ARGS = "args"


_LIKELY: dict[Family, dict[Feature, float]] = {
    Family.FILTER: {
        Feature.NODE_NAME: 0.45,
        Feature.NODE_AFFINITY: 0.6,
        Feature.PORTS: 0.8,
        Feature.POD_LEVEL_RESOURCES: 0.25,
        Feature.ARGS: 0.25,
        Feature.PREFERRED_TAINTS: 0.2,
        Feature.PREFERRED_NODE_AFFINITY: 0.1,
        Feature.PREFERRED_SPREADING: 0.1,
        Feature.PREFERRED_AFFINITY: 0.1,
        Feature.IMAGES: 0.1,
        Feature.DISRUPTION_BUDGETS: 0.0,
    },
    Family.SCORE: {
        Feature.PREFERRED_TAINTS: 0.7,
        Feature.PREFERRED_NODE_AFFINITY: 0.7,
        Feature.PREFERRED_SPREADING: 0.7,
        Feature.PREFERRED_AFFINITY: 0.7,
        Feature.IMAGES: 0.8,
        Feature.UNSCHEDULABLE: 0.07,
        Feature.NODE_NAME: 0.0,
        Feature.TAINTS: 0.1,
        Feature.NODE_AFFINITY: 0.1,
        Feature.PORTS: 0.15,
        Feature.FULL_NODES: 0.0,
        Feature.SPREADING: 0.1,
        Feature.AFFINITY: 0.3,
        Feature.ANTI_AFFINITY: 0.3,
        Feature.ODD_QUANTITIES: 0.3,
        Feature.NOMINATED: 0.1,
        Feature.DISRUPTION_BUDGETS: 0.0,
        Feature.ARGS: 0.6,
    },
    Family.PREEMPTION: {
        Feature.UNSCHEDULABLE: 0.1,
        Feature.NODE_NAME: 0.0,
        Feature.TAINTS: 0.1,
        Feature.PREFERRED_TAINTS: 0.0,
        Feature.NODE_AFFINITY: 0.1,
        Feature.PREFERRED_NODE_AFFINITY: 0.0,
        Feature.PORTS: 0.35,
        Feature.FULL_NODES: 0.9,
        Feature.EXTENDED_RESOURCES: 0.25,
        Feature.ODD_QUANTITIES: 0.1,
        Feature.SPREADING: 0.45,
        Feature.PREFERRED_SPREADING: 0.0,
        Feature.AFFINITY: 0.15,
        Feature.ANTI_AFFINITY: 0.35,
        Feature.PREFERRED_AFFINITY: 0.0,
        Feature.IMAGES: 0.0,
        Feature.PRIORITIES: 1.0,
        Feature.DISRUPTION_BUDGETS: 0.7,
        Feature.NOMINATED: 0.6,
        Feature.ARGS: 0.1,
    },
}


def features_of(draw: Draw, family: Family) -> frozenset[Feature]:
    """Draw the features of one case, each with probability 0.5 unless the family sets another one."""
    likely = _LIKELY[family]
    return frozenset(feature for feature in Feature if draw.chance(likely.get(feature, 0.5)))
