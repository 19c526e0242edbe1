"""Where other versions of kube-scheduler differ from the one whose rules Berth has, with a case of each difference.

A comparison with another version takes from the cases what the differences concern; all else has to be equal. The case
of a difference shows that it is one: it differs on its versions, and is equal on the others.
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
"""The version whose rules Berth has."""

CASES = Path(__file__).parent / "version_cases"

AFFINITIES = ("podAffinity", "podAntiAffinity")
RESIZED = ("resources", "allocatedResources")
NEGATIVE = frozenset({"NotIn", "DoesNotExist"})

Compare = Callable[[Family, Case], list[Difference]]


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """name: of the file of its case. versions: those that differ. remove: takes from a case what it concerns.

    rules: what differs in most cases, whatever is taken from them, and is not compared. uncovered: plugins that too few
    of the remaining cases say something about.
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
    """The pending pod's namespaceSelectors that an empty set of labels satisfies; `{}` means the same everywhere."""
    for term in _own_terms(case["pod"]["spec"].get("affinity") or {}):
        if _is_negative(term.get("namespaceSelector") or {}):
            del term["namespaceSelector"]


def remove_resizes(case: Case) -> None:
    """What status says of resources and of resizes."""
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
    """What status says of the resources of whole pods; 1.34 does not have the fields."""
    for each in (*case["objects"], case["pod"]):
        if each["kind"] == "Pod":
            for field in RESIZED:
                each.get("status", {}).pop(field, None)


def remove_overlapping_budgets(case: Case) -> None:
    """All PodDisruptionBudgets of a namespace but the first, so that no pod has two."""
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
    """The case without what differs in this version."""
    differing = [each for each in DIFFERENCES if version in each.versions]
    if not differing:
        return case
    remaining = deepcopy(case)
    for difference in differing:
        difference.remove(remaining)
    return remaining


def comparable_differences(found: list[Difference], version: str) -> list[Difference]:
    """Those of rules that are compared in this version."""
    ignored = frozenset().union(*(each.rules for each in DIFFERENCES if version in each.versions))
    return [difference for difference in found if difference.rule not in ignored] if ignored else found


def uncovered(version: str) -> frozenset[str]:
    """The plugins that too few comparable cases say something about."""
    return frozenset().union(*(each.uncovered for each in DIFFERENCES if version in each.versions))


def unexpected(version: str, compare: Compare) -> list[str]:
    """The differences whose case does not say of this version what it should, as text."""
    found = []
    for difference in DIFFERENCES:
        differs = bool(compare(*difference.saved()))
        if differs != (version in difference.versions):
            found.append(f"the case {difference.name} {'differs' if differs else 'is equal'} in {version}")
    return found
