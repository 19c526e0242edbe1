"""One change of the pod, of its gang or of the cluster, as an operator would make it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.fields.reading import Object
from berth_cli.explanation.blockers import PoolShortage
from berth_cli.explanation.case import Case, Edit


class ChangeKind(StrEnum):
    """The kinds of changes, the smallest first. The names are part of the JSON output."""

    LABEL_NODE = "LabelNode"
    UNCORDON_NODE = "UncordonNode"
    ADD_TOLERATION = "AddToleration"
    LOWER_REQUEST = "LowerRequest"
    CREATE_MEMBERS = "CreateMembers"
    END_PODS = "EndPods"
    RAISE_CAPACITY = "RaiseCapacity"
    SOFTEN_SPREAD = "SoftenSpread"
    REMOVE_NODE_SELECTOR = "RemoveNodeSelector"
    REMOVE_POD_AFFINITY = "RemovePodAffinity"
    READY_NODE = "ReadyNode"
    ADD_NODE = "AddNode"


RANK = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """A change. text: for users. subject: the target of the change apart from the node: equal changes of different
    nodes have the same subject. node: the changed node; empty if the pod is changed. size: compares two changes of a
    kind. details: for programs. apply: returns the case after the change; None if the change is impossible. ended: the
    UIDs of the pods that end.
    """

    kind: ChangeKind
    text: str
    subject: str
    apply: Callable[[Case], Case | None]
    node: str = ""
    size: float = 0.0
    details: Mapping[str, object] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()


Option = tuple[Change, ...]
"""Changes that together remove one reason."""


def of_pod(kind: ChangeKind, text: str, subject: str, edit: Edit, size: float = 0.0, **details: object) -> Change:
    """Build a change of the pod, and of gang members with the same spec."""
    return Change(kind, text, subject, lambda case: case.with_pod(edit), size=size, details=details)


def of_node(
    kind: ChangeKind, text: str, node: str, edit: Edit, subject: str = "", size: float = 0.0, **details: object
) -> Change:
    """Build a change of a node."""
    return Change(kind, text, subject, lambda case: case.with_node(node, edit), node, size, details)


def raise_capacity(short: PoolShortage) -> Change:
    """Raise the capacity of a floating pool to the smallest number that works."""
    pool, after = short.pool, short.capacity + short.needed - short.room
    return Change(
        ChangeKind.RAISE_CAPACITY,
        f"raise the capacity of {pool} from {short.capacity} to {after}",
        pool.partition("=")[0],
        lambda case: replace(case, capacities={**case.capacities, pool: after}),
        details={"pool": pool, "from": short.capacity, "to": after},
    )


def size_of(changes: Option) -> tuple[int, int, float]:
    """Return a sort key: fewer changes first, then smaller kinds, then smaller sizes."""
    return len(changes), sum(RANK[each.kind] for each in changes), sum(each.size for each in changes)


def apply_all(changes: Iterable[Change], case: Case) -> Case | None:
    """Return the case after all changes; None if one of them is impossible."""
    changed: Case | None = case
    for each in changes:
        changed = changed and each.apply(changed)
    return changed


def at(obj: Object, *path: str) -> Object:
    """Return the part of an object at this path; empty if it is missing."""
    for name in path:
        found = obj.get(name)
        obj = found if isinstance(found, dict) else {}
    return obj
