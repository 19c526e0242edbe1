"""One change of the pod, of its gang or of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from berth_cli.explain.case import Case


class ChangeKind(StrEnum):
    """The kinds of changes, the smallest first. The names are part of the JSON output."""

    LABEL_NODE = "LabelNode"
    CORRECT_CAPACITY = "CorrectCapacity"
    UNCORDON_NODE = "UncordonNode"
    REMOVE_TAINT = "RemoveTaint"
    ADD_TOLERATION = "AddToleration"
    CORRECT_REQUEST = "CorrectRequest"
    LOWER_REQUEST = "LowerRequest"
    CHANGE_NODE_LABEL = "ChangeNodeLabel"
    ADD_REQUEST = "AddRequest"
    UNGATE_MEMBERS = "UngateMembers"
    CREATE_MEMBERS = "CreateMembers"
    CORRECT_GANG = "CorrectGang"
    LOWER_GANG_SIZE = "LowerGangSize"
    END_PODS = "EndPods"
    RAISE_MAX_SKEW = "RaiseMaxSkew"
    DROP_REQUEST = "DropRequest"
    REMOVE_HOST_PORT = "RemoveHostPort"
    REMOVE_NODE_SELECTOR = "RemoveNodeSelector"
    REMOVE_NODE_AFFINITY = "RemoveNodeAffinity"
    REMOVE_POD_AFFINITY = "RemovePodAffinity"
    REMOVE_POD_ANTI_AFFINITY = "RemovePodAntiAffinity"
    SOFTEN_SPREAD = "SoftenSpread"
    REMOVE_SPREAD = "RemoveSpread"
    LEAVE_GANG = "LeaveGang"
    REPAIR_NODE = "RepairNode"
    ADD_NODE = "AddNode"


RANK = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """text: for people. subject: what is changed, apart from the node: equal changes of different nodes have the same.
    node: the node that is changed; empty where the pod is. size: to compare two changes of a kind. details: for
    programs. apply: the case after the change; None where it cannot be made. takes: the node that is to take the pod
    then, where it is another one than that which is changed. ended: the UIDs of the pods that are ended."""

    kind: ChangeKind
    text: str
    subject: str
    apply: Callable[[Case], Case | None]
    node: str = ""
    size: float = 0.0
    details: Mapping[str, object] = field(default_factory=dict)
    takes: str = ""
    ended: tuple[str, ...] = ()


Option = tuple[Change, ...]
"""Changes that together answer one reason."""


def size_of(changes: Option) -> tuple[int, int, float]:
    """Fewer changes are smaller, then those of smaller kinds, then smaller ones of a kind."""
    return len(changes), sum(RANK[each.kind] for each in changes), sum(each.size for each in changes)


def applied(changes: Iterable[Change], case: Case) -> Case | None:
    """The case after all of them; None where one cannot be made."""
    for each in changes:
        changed = each.apply(case)
        if changed is None:
            return None
        case = changed
    return case
