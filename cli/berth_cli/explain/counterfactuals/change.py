"""One change of the pod or of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from berth_cli.explain.case import Case


class ChangeKind(StrEnum):
    """The kinds of changes, the smallest first. The names are part of the JSON output."""

    LABEL_NODE = "LabelNode"
    UNCORDON_NODE = "UncordonNode"
    REMOVE_TAINT = "RemoveTaint"
    ADD_TOLERATION = "AddToleration"
    LOWER_REQUEST = "LowerRequest"
    END_PODS = "EndPods"
    RAISE_MAX_SKEW = "RaiseMaxSkew"
    REMOVE_NODE_SELECTOR = "RemoveNodeSelector"
    REMOVE_NODE_AFFINITY = "RemoveNodeAffinity"
    REMOVE_POD_AFFINITY = "RemovePodAffinity"
    REMOVE_POD_ANTI_AFFINITY = "RemovePodAntiAffinity"
    SOFTEN_SPREAD = "SoftenSpread"
    REPAIR_NODE = "RepairNode"
    ADD_NODE = "AddNode"


RANK = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """text: for people. subject: what is changed, apart from the node: equal changes of different nodes have the same.
    node: the node that is changed; empty where the pod is. size: to compare two changes of a kind. details: for
    programs. apply: the case after the change; None where it cannot be made."""

    kind: ChangeKind
    text: str
    subject: str
    apply: Callable[[Case], Case | None]
    node: str = ""
    size: float = 0.0
    details: Mapping[str, object] = field(default_factory=dict)


Option = tuple[Change, ...]
"""Changes that together answer one reason."""


def size_of(changes: Option) -> tuple[int, int, float]:
    """Fewer changes are smaller, then those of smaller kinds, then smaller ones of a kind."""
    return len(changes), sum(RANK[each.kind] for each in changes), sum(each.size for each in changes)
