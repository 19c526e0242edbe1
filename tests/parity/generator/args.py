"""Arguments of plugins: a few fixed sets, because each program builds a profile for each set."""

from __future__ import annotations

from typing import Any

from tests.parity.generator.draw import Draw
from tests.parity.generator.labels import HOSTNAME, RACK, ZONE

Args = dict[str, dict[str, Any]]

_DISK = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd", "hdd"]}]}
_RECENT = {"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["5"]}]}
_RESOURCES = [
    {"name": "cpu", "weight": 3},
    {"name": "memory", "weight": 1},
    {"name": "ephemeral-storage", "weight": 2},
    {"name": "example.com/gpu", "weight": 5},
]


def _strategy(kind: str, resources: list[dict[str, Any]], shape: list[tuple[int, int]] | None = None) -> Args:
    strategy: dict[str, Any] = {"type": kind, "resources": resources}
    if shape:
        points = [{"utilization": utilization, "score": score} for utilization, score in shape]
        strategy["requestedToCapacityRatio"] = {"shape": points}
    return {"NodeResourcesFit": {"scoringStrategy": strategy}}


FILTER_ARGS: tuple[Args, ...] = (
    {
        "NodeAffinity": {
            "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_DISK, _RECENT]}}
        }
    },
    {"NodeResourcesFit": {"ignoredResources": ["example.com/gpu"]}},
    {"NodeResourcesFit": {"ignoredResourceGroups": ["example.com"]}},
    {
        "PodTopologySpread": {
            "defaultingType": "List",
            "defaultConstraints": [
                {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                {"maxSkew": 2, "topologyKey": RACK, "whenUnsatisfiable": "ScheduleAnyway"},
            ],
        }
    },
)

SCORE_ARGS: tuple[Args, ...] = (
    {
        "NodeAffinity": {
            "addedAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 7, "preference": _DISK},
                    {"weight": 20, "preference": _RECENT},
                ]
            }
        }
    },
    {"PodTopologySpread": {"defaultingType": "System"}},
    {
        "PodTopologySpread": {
            "defaultingType": "List",
            "defaultConstraints": [{"maxSkew": 2, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}],
        }
    },
    {"InterPodAffinity": {"hardPodAffinityWeight": 0}},
    {"InterPodAffinity": {"hardPodAffinityWeight": 100}},
    {"InterPodAffinity": {"ignorePreferredTermsOfExistingPods": True}},
    {"NodeResourcesBalancedAllocation": {"resources": [{**spec, "weight": 1} for spec in _RESOURCES]}},
    _strategy("LeastAllocated", _RESOURCES),
    _strategy("LeastAllocated", [{**_RESOURCES[0], "weight": 0}, _RESOURCES[1]]),
    _strategy("MostAllocated", _RESOURCES[:2]),
    _strategy("MostAllocated", _RESOURCES),
    _strategy("RequestedToCapacityRatio", _RESOURCES[:2], [(0, 0), (100, 10)]),
    _strategy("RequestedToCapacityRatio", _RESOURCES, [(0, 10), (37, 4), (70, 9), (100, 0)]),
    _strategy("RequestedToCapacityRatio", _RESOURCES, [(20, 3), (80, 7)]),
)


def args(draw: Draw) -> Args:
    """Draw the arguments of one plugin, sometimes of two."""
    chosen = dict(draw.one_of(FILTER_ARGS + SCORE_ARGS))
    if draw.chance(0.3):
        chosen = {**draw.one_of(SCORE_ARGS), **chosen}
    return chosen


def wants_workloads(chosen: Args) -> bool:
    """Return whether default constraints apply: they select pods as the services and workloads of the pod do."""
    return chosen.get("PodTopologySpread", {}) != {}
