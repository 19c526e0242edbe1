"""Proposals to change a node: its labels, its taints, its state; and more nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product

from berth.scheduling.fields.node_affinity import NodeSelector, NodeSelectorTerm
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
"""Of one label."""

MOST_ALTERNATIVES = 6
"""Sets of labels for one node."""

MOST_LOOKED_AT = 100
"""Of which those with the fewest labels are taken."""

NEW_NODE = "{}-new-{}"

Labels = Mapping[str, str | None]
"""None: without the label."""


def label_node(node: NodeInfo, labels: Labels) -> Change:
    """Give a node these labels, and take others from it."""

    def edit(obj: Object) -> None:
        own = _mapping(_mapping(obj, "metadata"), "labels")
        for key, value in labels.items():
            own.pop(key, None)
            if value is not None:
                own[key] = value

    is_new = node.labels.keys().isdisjoint(labels)
    return Change(
        ChangeKind.LABEL_NODE if is_new else ChangeKind.CHANGE_NODE_LABEL,
        _label_text(node, labels),
        ", ".join(sorted(labels)),
        lambda case: case.with_node(node.name, edit),
        node.name,
        len(labels),
        {"labels": dict(labels)},
    )


def _label_text(node: NodeInfo, labels: Labels) -> str:
    """New labels, other values of labels that it has, and labels that it loses, in this order."""
    new = [f"{key}={value}" for key, value in labels.items() if value is not None and key not in node.labels]
    kept = {key: value for key, value in labels.items() if value is not None and key in node.labels}
    other = [f"{key} from {node.labels[key]} to {value}" for key, value in kept.items()]
    gone = [f"{key}={node.labels.get(key)}" for key, value in labels.items() if value is None]
    parts = [(f"add the {_noun(new)} {', '.join(new)} to node {node.name}")] if new else []
    parts += [f"change the {_noun(other)} {', '.join(other)} on node {node.name}"] if other else []
    parts += [f"remove the {_noun(gone)} {', '.join(gone)} from node {node.name}"] if gone else []
    return ", and ".join(parts)


def _noun(labels: list[str]) -> str:
    return "label" if len(labels) == 1 else "labels"


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
    """Remove the taints that the pod does not tolerate; or let it tolerate them. A taint that the control plane sets
    goes with what it stands for."""
    taints = [each for each in node.taints if each.forbids and not tolerated(each, case.pod.spec.tolerations)]
    own = [each for each in taints if each.key not in CONDITIONS and each.key != CORDON]
    first: Option = ()
    if any(each.key in CONDITIONS for each in taints):
        first += (repair(node.name),)
    if any(each.key == CORDON for each in taints):
        first += (uncordon(node.name),)
    yield (*first, *(_remove_taint(node.name, each) for each in own))
    if own:
        yield (*first, *(_tolerate(case, each) for each in own))


def labels_for_selector(case: Case, node: NodeInfo) -> Iterator[Option]:
    """The labels that nodeSelector and one of the affinity's terms ask for."""
    spec = case.pod.spec
    selected = {key: value for key, value in (spec.node_selector or {}).items() if node.labels.get(key) != value}
    yield from labels_for_terms(spec.node_affinity.required, node, selected)


def labels_for_terms(terms: NodeSelector | None, node: NodeInfo, others: Mapping[str, str]) -> Iterator[Option]:
    """The labels that one of the terms asks for, and the others besides. terms: None for no more than the others."""
    alternatives: Iterable[Labels] = [{}]
    if terms is not None:
        alternatives = chain.from_iterable(_labels_for_term(each, node) for each in terms.terms)
    for labels in sorted(islice(alternatives, MOST_LOOKED_AT), key=len)[:MOST_ALTERNATIVES]:
        wanted: dict[str, str | None] = {**labels, **others}
        if 0 < len(wanted) <= MOST_LABELS and HOSTNAME not in wanted:
            yield (label_node(node, wanted),)


def labels_of_domains(case: Case, node: NodeInfo, keys: Iterable[str]) -> Iterator[Option]:
    """A topology label that the node lacks, with the values that most nodes have."""
    for key in dict.fromkeys(keys):
        if key in node.labels or key == HOSTNAME:
            continue
        values = Counter(each.labels[key] for each in case.snapshot.nodes.values() if key in each.labels)
        for value, _ in values.most_common(MOST_VALUES):
            yield (label_node(node, {key: value}),)


def add_nodes(like: str, count: int = 1) -> Change:
    """More nodes like this one, without its pods but those of DaemonSets."""
    names = [NEW_NODE.format(like, number) for number in range(count)]
    return Change(
        ChangeKind.ADD_NODE,
        f"add a node like {like}" if count == 1 else f"add {count} nodes like {like}",
        "",
        lambda case: case.with_nodes_like(like, names),
        names[0],
        count,
        {"like": like, "count": count},
    )


def _labels_for_term(term: NodeSelectorTerm, node: NodeInfo) -> Iterator[Labels]:
    """Alternatives; none where labels are no answer."""
    if term.invalid or not all(field.matches(node.name) for field in term.fields):
        return
    wrong = [each for each in term.expressions if not each.matches(node.labels)]
    for values in product(*(_values_for(each) for each in wrong)):
        yield {each.key: value for each, value in zip(wrong, values, strict=True)}


def _values_for(requirement: Requirement) -> Sequence[str | None]:
    """Alternatives. None: no label at all."""
    match requirement.operator:
        case Operator.IN:
            return sorted(requirement.values)[:MOST_VALUES]
        case Operator.EXISTS:
            return ("true",)
        case Operator.GT:
            return (str(requirement.bound + 1),)
        case Operator.LT:
            return (str(requirement.bound - 1),)
        case _:
            return (None,)


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


def _tolerate(case: Case, taint: Taint) -> Change:
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}

    def edit(obj: Object) -> None:
        spec = _mapping(obj, "spec")
        tolerations = spec.get("tolerations")
        spec["tolerations"] = [*(tolerations if isinstance(tolerations, list) else ()), toleration]

    shown = _shown(taint)
    return Change(
        ChangeKind.ADD_TOLERATION,
        f"let {case.whom} tolerate {shown}",
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
