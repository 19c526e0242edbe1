"""Whether a node that an autoscaler adds would take the pod, and why none comes.

Cluster Autoscaler and Karpenter ask no extender (fact 48). Where kube-scheduler's own rules pass the pod on a node that
is there, they add none, and on a new node Berth may reject the pod again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import PODS
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.case import Case, Edit
from berth_cli.explain.rules import DecidedBy, Rejection, Rules

MOST_KINDS = 5
"""Of the nodes that are there, by resources, taints and the reasons that they are rejected for."""

MOST_TEMPLATES = 20
NEW_NODE = "{}-new"
SIZES = frozenset({ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.TOO_MANY_PODS})
LARGE = "1000000"
"""Of each resource that the pod asks for, in its own unit or in Ti."""


class NewNodeOutcome(StrEnum):
    """The names are part of the JSON output. TOO_SMALL: a larger one of the kind would take the pod."""

    TAKES = "takes-the-pod"
    TOO_SMALL = "too-small"
    REJECTED_BY_BERTH = "rejected-by-berth"
    REJECTED_BY_SCHEDULER = "rejected-by-kube-scheduler"


@dataclass(frozen=True, slots=True)
class NewNode:
    """What becomes of the pod on a new node. like: the node or the template. reason: empty where it takes the pod."""

    like: str
    outcome: NewNodeOutcome
    reason: str


@dataclass(frozen=True, slots=True)
class NewNodes:
    """fits_for_scheduler: nodes that are there, and that only Berth rejects: for them no node is added."""

    fits_for_scheduler: Sequence[str]
    kinds: Sequence[NewNode]

    @property
    def is_any_use(self) -> bool:
        """Whether some new node would take the pod, of any size."""
        return any(each.outcome in (NewNodeOutcome.TAKES, NewNodeOutcome.TOO_SMALL) for each in self.kinds)


def new_nodes(case: Case, rules: Rules, rejected: Mapping[str, Rejection], templates: Iterable[Object]) -> NewNodes:
    """rejected: of the nodes that are there. templates: Nodes as groups of an autoscaler add them, and NodePools."""
    kinds = [
        _judged(case, rules, name, case.with_node_like(name, NEW_NODE.format(name))) for name in _kinds(case, rejected)
    ]
    for template in islice(templates, MOST_TEMPLATES):
        node = _node_of(template, case)
        name = str(_mapping(template, "metadata").get("name") or "template")
        kinds.append(_judged(case, rules, name, case.with_new_node(NEW_NODE.format(name), node)))
    fits = [name for name, rejection in rejected.items() if rejection.by is DecidedBy.BERTH]
    return NewNodes(fits, [each for each in kinds if each is not None])


def _judged(case: Case, rules: Rules, like: str, changed: Case | None) -> NewNode | None:
    """None where the node cannot be read."""
    if changed is None:
        return None
    new = NEW_NODE.format(like)
    rejection = rules.rejected(changed.pod, [new], changed.snapshot).get(new)
    if rejection is None:
        return NewNode(like, NewNodeOutcome.TAKES, "")
    if rejection.by is DecidedBy.SCHEDULER and SIZES.issuperset(rejection.status.reason_codes):
        larger = changed.with_node(new, _enlarged(case))
        again = None if larger is None else rules.rejected(larger.pod, [new], larger.snapshot).get(new)
        if again is None:
            return NewNode(like, NewNodeOutcome.TOO_SMALL, rejection.status.message)
        rejection = again
    is_berth = rejection.by is DecidedBy.BERTH
    outcome = NewNodeOutcome.REJECTED_BY_BERTH if is_berth else NewNodeOutcome.REJECTED_BY_SCHEDULER
    return NewNode(like, outcome, rejection.status.message)


def _kinds(case: Case, rejected: Mapping[str, Rejection]) -> list[str]:
    found: dict[tuple[object, ...], str] = {}
    for name in sorted(case.snapshot.nodes):
        node = case.snapshot.nodes[name]
        reasons = rejected[name].status.reasons if name in rejected else ()
        found.setdefault((tuple(sorted(node.allocatable.items())), node.taints, reasons), name)
    return list(islice(found.values(), MOST_KINDS))


def _enlarged(case: Case) -> Edit:
    """Gives a node as much as any pod asks for."""
    resources = [*case.pod.spec.requests.asked, PODS]
    large = {name: f"{LARGE}Ti" if name in ("memory", "ephemeral-storage") else LARGE for name in resources}

    def edit(node: Object) -> None:
        status = _mapping(node, "status")
        node["status"] = {**status, "allocatable": {**_mapping(status, "allocatable"), **large}}

    return edit


def _node_of(template: Object, case: Case) -> Object:
    """A Node as it is; of a Karpenter NodePool a node of any size with its labels and taints."""
    if template.get("kind") != "NodePool":
        return template
    spec = _mapping(_mapping(template, "spec"), "template")
    labels = {**dict(_requirements(_mapping(spec, "spec"), case)), **_mapping(_mapping(spec, "metadata"), "labels")}
    name = str(_mapping(template, "metadata").get("name"))
    taints = _mapping(spec, "spec").get("taints") or []
    node: Object = {
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, "karpenter.sh/nodepool": name}},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    _enlarged(case)(node)
    return node


def _requirements(spec: Object, case: Case) -> Iterator[tuple[str, str]]:
    """A value for each key: the one that the pod selects, if the requirement has it."""
    selected = case.pod.spec.node_selector or {}
    listed = spec.get("requirements")
    for each in listed if isinstance(listed, list) else ():
        values = each.get("values") if isinstance(each, dict) and each.get("operator") == "In" else None
        if isinstance(values, list) and values:
            key = str(each.get("key"))
            yield key, selected[key] if selected.get(key) in values else str(values[0])


def _mapping(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
