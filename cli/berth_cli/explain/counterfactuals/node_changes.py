"""Proposals to change a node: its labels, its taints, its state; and one more node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from berth.scheduling.fields.node_affinity import NodeSelectorTerm
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.selectors import Operator, Requirement
from berth.scheduling.fields.taints import Taint, tolerated
from berth.scheduling.objects import NodeInfo
from berth_cli.explain.case import HOSTNAME, Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

CORDON = "node.kubernetes.io/unschedulable"
CONDITIONS = frozenset(
    f"node.kubernetes.io/{name}"
    for name in ("not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
)
"""Taints that the control plane sets for a condition of the node: it would set them again."""

MOST_LABELS = 3
"""A node that lacks more labels is another kind of node."""

MOST_VALUES = 3
NEW_NODE = "{}-new"


def label_node(node: str, labels: dict[str, str]) -> Change:
    """Give a node these labels."""

    def edit(obj: Object) -> None:
        _mapping(_mapping(obj, "metadata"), "labels").update(labels)

    shown = ", ".join(f"{key}={value}" for key, value in labels.items())
    noun = "label" if len(labels) == 1 else "labels"
    return Change(
        ChangeKind.LABEL_NODE,
        f"add the {noun} {shown} to node {node}",
        shown,
        lambda case: case.with_node(node, edit),
        node,
        len(labels),
        {"labels": labels},
    )


def uncordon(node: str) -> Change:
    """Let pods on a cordoned node again."""

    def edit(obj: Object) -> None:
        spec = _mapping(obj, "spec")
        spec["unschedulable"] = False
        spec["taints"] = [each for each in _taints(spec) if each.get("key") != CORDON]

    return Change(ChangeKind.UNCORDON_NODE, f"uncordon node {node}", "", lambda case: case.with_node(node, edit), node)


def repair(node: str) -> Change:
    """What only the node itself can do: become ready, and free of pressure."""

    def edit(obj: Object) -> None:
        spec, status = _mapping(obj, "spec"), _mapping(obj, "status")
        spec["taints"] = [each for each in _taints(spec) if each.get("key") not in CONDITIONS]
        status["conditions"] = [{"type": "Ready", "status": "True"}]
        status.pop("phase", None)

    text = f"get node {node} ready again"
    return Change(ChangeKind.REPAIR_NODE, text, "", lambda case: case.with_node(node, edit), node)


def answers_to_taints(case: Case, node: NodeInfo) -> Iterator[Option]:
    """Remove the taints that the pod does not tolerate; or let it tolerate them."""
    taints = [each for each in node.taints if each.forbids and not tolerated(each, case.pod.spec.tolerations)]
    if any(each.key in CONDITIONS for each in taints):
        yield (repair(node.name),)
        return
    if any(each.key == CORDON for each in taints):
        yield (uncordon(node.name), *(_remove_taint(node.name, each) for each in taints if each.key != CORDON))
        return
    yield tuple(_remove_taint(node.name, each) for each in taints)
    yield tuple(_tolerate(each) for each in taints)


def labels_for_selector(case: Case, node: NodeInfo) -> Iterator[Option]:
    """The labels that nodeSelector and one of the affinity's terms ask for."""
    spec = case.pod.spec
    selected = {key: value for key, value in (spec.node_selector or {}).items() if node.labels.get(key) != value}
    terms: Iterable[NodeSelectorTerm] = spec.node_affinity.required.terms if spec.node_affinity.required else ()
    found = [_labels_for_term(term, node) for term in terms] if spec.node_affinity.required else [{}]
    for labels in sorted((each for each in found if each is not None), key=len)[:MOST_VALUES]:
        wanted = {**labels, **selected}
        if 0 < len(wanted) <= MOST_LABELS and HOSTNAME not in wanted:
            yield (label_node(node.name, wanted),)


def labels_of_domains(case: Case, node: NodeInfo, keys: Iterable[str]) -> Iterator[Option]:
    """A topology label that the node lacks, with the values that most nodes have."""
    for key in keys:
        if key in node.labels or key == HOSTNAME:
            continue
        values = Counter(each.labels[key] for each in case.snapshot.nodes.values() if key in each.labels)
        for value, _ in values.most_common(MOST_VALUES):
            yield (label_node(node.name, {key: value}),)


def add_node(like: str) -> Change:
    """One more node like this one, without its pods but those of DaemonSets."""
    new = NEW_NODE.format(like)
    return Change(
        ChangeKind.ADD_NODE,
        f"add a node like {like}",
        "",
        lambda case: case.with_node_like(like, new),
        new,
        details={"like": like},
    )


def _labels_for_term(term: NodeSelectorTerm, node: NodeInfo) -> dict[str, str] | None:
    """None where labels are no answer."""
    if term.invalid or not all(field.matches(node.name) for field in term.fields):
        return None
    found: dict[str, str] = {}
    for each in term.expressions:
        if not each.matches(node.labels):
            value = _value_for(each)
            if value is None:
                return None
            found[each.key] = value
    return found


def _value_for(requirement: Requirement) -> str | None:
    match requirement.operator:
        case Operator.IN:
            return min(requirement.values, default=None)
        case Operator.EXISTS:
            return "true"
        case Operator.GT:
            return str(requirement.bound + 1)
        case Operator.LT:
            return str(requirement.bound - 1)
        case _:
            return None


def _remove_taint(node: str, taint: Taint) -> Change:
    def edit(obj: Object) -> None:
        spec = _mapping(obj, "spec")
        spec["taints"] = [
            each
            for each in _taints(spec)
            if (each.get("key"), each.get("value") or "", each.get("effect")) != (taint.key, taint.value, taint.effect)
        ]

    shown = _shown(taint)
    return Change(
        ChangeKind.REMOVE_TAINT,
        f"remove the taint {shown} from node {node}",
        shown,
        lambda case: case.with_node(node, edit),
        node,
        details={"key": taint.key, "value": taint.value, "effect": taint.effect},
    )


def _tolerate(taint: Taint) -> Change:
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}

    def edit(obj: Object) -> None:
        spec = _mapping(obj, "spec")
        tolerations = spec.get("tolerations")
        spec["tolerations"] = [*(tolerations if isinstance(tolerations, list) else ()), toleration]

    shown = _shown(taint)
    return Change(
        ChangeKind.ADD_TOLERATION,
        f"let the pod tolerate {shown}",
        shown,
        lambda case: case.with_pod(edit),
        details={"toleration": toleration},
    )


def _shown(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _taints(spec: Object) -> list[Object]:
    found = spec.get("taints")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _mapping(obj: Object, name: str) -> Object:
    """The part of this name, made where it is missing."""
    found = obj.get(name)
    if not isinstance(found, dict):
        found = obj[name] = {}
    return found
