"""The forms of the model in the cases: operators, effects, fields and notations of quantities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.parity.responder import Case

ENUMERATIONS = frozenset(
    {
        "operator",
        "effect",
        "whenUnsatisfiable",
        "nodeAffinityPolicy",
        "nodeTaintsPolicy",
        "protocol",
        "hostIP",
        "maxSkew",
        "minDomains",
        "phase",
        "preemptionPolicy",
        "reason",
        "restartPolicy",
        "defaultingType",
    }
)
"""Fields whose values are forms."""

FIELDS = frozenset(
    {
        "unschedulable",
        "nodeName",
        "nodeSelector",
        "matchFields",
        "matchExpressions",
        "namespaces",
        "namespaceSelector",
        "matchLabelKeys",
        "mismatchLabelKeys",
        "podAffinity",
        "podAntiAffinity",
        "nodeAffinity",
        "hostPort",
        "hostNetwork",
        "overhead",
        "initContainers",
        "resources",
        "allocatedResources",
        "containerStatuses",
        "schedulingGates",
        "nominatedNodeName",
        "deletionTimestamp",
        "startTime",
        "disruptedPods",
        "images",
        "volumes",
        "priority",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
        "addedAffinity",
        "scoringStrategy",
        "ignoredResources",
    }
)
"""Fields whose presence is a form."""

RESOURCE_LISTS = frozenset({"requests", "limits", "allocatable", "overhead", "allocatedResources"})

_QUANTITY = re.compile(r"(?P<sign>[+-]?)(?P<number>[0-9.]+)(?P<suffix>[a-zA-Z]*)(?P<exponent>[+-]?[0-9]*)")


def forms(case: Case) -> set[str]:
    return set(_forms({"objects": case["objects"], "pod": case["pod"], "args": case["args"]}))


def _forms(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _forms(item)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in FIELDS:
                yield key
            if key in ENUMERATIONS:
                yield f"{key} {inner}"
            if key in RESOURCE_LISTS:
                yield from (form for quantity in inner.values() for form in _quantity_forms(quantity))
            yield from _forms(inner)


def _quantity_forms(quantity: str) -> Iterator[str]:
    match = _QUANTITY.fullmatch(quantity)
    if match is None:
        yield "quantity unreadable"
        return
    sign, number, suffix, exponent = match.group("sign", "number", "suffix", "exponent")
    yield f"quantity suffix {suffix}{'N' if exponent else ''}"
    if sign:
        yield f"quantity sign {sign}"
    if "." in number:
        yield "quantity with decimal point"
    if len(number) >= 19:
        yield "quantity of 19 digits or more"
