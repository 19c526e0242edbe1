"""Differences of other versions of kube-scheduler from the version that Berth implements, with a case of each.

A comparison with another version removes the differing parts from the cases; everything else must be equal. The case
of a difference proves the difference: the answers differ for its versions, and are equal for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tests.parity.differences import Difference
from tests.parity.generator.features import Family
from tests.parity.responder import Case

VERSION = "1.36"
"""The version whose rules Berth implements."""

CASES = Path(__file__).parent / "version_cases"

AFFINITIES = ("podAffinity", "podAntiAffinity")
RESIZED = ("resources", "allocatedResources")
NEGATIVE = frozenset({"NotIn", "DoesNotExist"})

Compare = Callable[[Family, Case], list[Difference]]


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """name: of its case's file. versions: the versions that differ. remove: removes the differing parts of a case.

    rules: rules that differ in most cases, whatever is removed, and are not compared. uncovered: plugins that too few
    of the remaining cases cover.
    """

    name: str
    versions: frozenset[str]
    remove: Callable[[Case], None] = lambda case: None
    rules: frozenset[str] = frozenset()
    uncovered: frozenset[str] = frozenset()

    def saved(self) -> tuple[Family, Case]:
        case = orjson.loads((CASES / f"{self.name}.json").read_bytes())
        return Family(case.pop("family")), case


def remove_node_name(case: Case) -> None:
    case["pod"]["spec"].pop("nodeName", None)


def remove_image_volumes(case: Case) -> None:
    spec = case["pod"]["spec"]
    if "volumes" in spec:
        spec["volumes"] = [volume for volume in spec["volumes"] if "image" not in volume]


def remove_negative_namespace_selectors(case: Case) -> None:
    """Remove the pending pod's namespaceSelectors that an empty set of labels satisfies, except `{}`."""
    for term in _own_terms(case["pod"]["spec"].get("affinity") or {}):
        if _is_negative(term.get("namespaceSelector") or {}):
            del term["namespaceSelector"]


def remove_resizes(case: Case) -> None:
    """Remove resources and resizes from the status of pods and containers."""
    for each in (*case["objects"], case["pod"]):
        if each["kind"] != "Pod" or "status" not in each:
            continue
        status = each["status"]
        for reported in (status, *status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
            for field in RESIZED:
                reported.pop(field, None)
        if "conditions" in status:
            status["conditions"] = [each for each in status["conditions"] if each["type"] != "PodResizePending"]


def remove_pod_level_status(case: Case) -> None:
    """Remove the resources of whole pods from their status; 1.34 does not have the fields."""
    for each in (*case["objects"], case["pod"]):
        if each["kind"] == "Pod":
            for field in RESIZED:
                each.get("status", {}).pop(field, None)


def remove_overlapping_budgets(case: Case) -> None:
    """Remove all PodDisruptionBudgets of a namespace except the first, so that no pod has two."""
    seen: set[str] = set()
    kept = []
    for each in case["objects"]:
        if each["kind"] == "PodDisruptionBudget":
            if each["metadata"]["namespace"] in seen:
                continue
            seen.add(each["metadata"]["namespace"])
        kept.append(each)
    case["objects"] = kept


def _own_terms(affinity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for kind in AFFINITIES:
        rules = affinity.get(kind) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]


def _is_negative(selector: dict[str, Any]) -> bool:
    requirements = selector.get("matchExpressions") or ()
    return (
        bool(requirements)
        and not selector.get("matchLabels")
        and all(requirement["operator"] in NEGATIVE for requirement in requirements)
    )


DIFFERENCES = (
    VersionDifference("negative-namespace-selector", frozenset({"1.37"}), remove_negative_namespace_selectors),
    VersionDifference("node-name", frozenset({"1.37"}), remove_node_name, uncovered=frozenset({"NodeName"})),
    VersionDifference("image-volume", frozenset({"1.34", "1.35", "1.37"}), remove_image_volumes),
    # The total is the weighted sum of scores that are compared one by one.
    VersionDifference(
        "balanced-allocation",
        frozenset({"1.34", "1.35"}),
        rules=frozenset({"score of NodeResourcesBalancedAllocation", "total score"}),
    ),
    VersionDifference("pod-level-status", frozenset({"1.34", "1.35"}), remove_pod_level_status),
    VersionDifference("resize", frozenset({"1.37"}), remove_resizes),
    VersionDifference("overlapping-budgets", frozenset({"1.37"}), remove_overlapping_budgets),
)


def comparable(case: Case, version: str) -> Case:
    """Return the case without the parts that differ in this version."""
    differing = [each for each in DIFFERENCES if version in each.versions]
    if not differing:
        return case
    remaining = deepcopy(case)
    for difference in differing:
        difference.remove(remaining)
    return remaining


def comparable_differences(found: list[Difference], version: str) -> list[Difference]:
    """Return the differences in rules that are compared in this version."""
    ignored = frozenset().union(*(each.rules for each in DIFFERENCES if version in each.versions))
    return [difference for difference in found if difference.rule not in ignored] if ignored else found


def uncovered(version: str) -> frozenset[str]:
    """Return the plugins that too few comparable cases cover."""
    return frozenset().union(*(each.uncovered for each in DIFFERENCES if version in each.versions))


def unexpected(version: str, compare: Compare) -> list[str]:
    """Return a text for each difference whose case contradicts the expectation for this version."""
    found = []
    for difference in DIFFERENCES:
        differs = bool(compare(*difference.saved()))
        if differs != (version in difference.versions):
            found.append(f"the case {difference.name} {'differs' if differs else 'is equal'} in {version}")
    return found
