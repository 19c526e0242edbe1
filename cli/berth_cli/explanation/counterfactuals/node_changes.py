"""Proposes changes of the cluster: of a node's labels, cordon and pods, and additional nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from berth.scheduling.fields.node_affinity import NodeSelector, NodeSelectorTerm
from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.requirements import Operator
from berth.scheduling.fields.resources import PODS, shown_amount
from berth.scheduling.fields.taints import Taint, TolerationIndex
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.preemption.victims import DisruptionBudgets
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.change import Change, ChangeKind, Option, at, of_pod
from berth_cli.installation.node_pools import is_of_provider
from berth_cli.placement.changed_objects import EVERY_NODE, is_node_state
from berth_cli.sources.pod_document import objects_in

CORDON = "node.kubernetes.io/unschedulable"
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
MAX_LABELS = 3  # a node that lacks more labels counts as another kind of node
MAX_PODS = 5  # pods to end for one pod
MAX_OPTIONS = 8  # options per node that end a single pod

Held = Callable[[Pod], Mapping[str, int]]
"""Returns the amounts that a pod uses, by resource."""


def label_node(node: NodeInfo, labels: Mapping[str, str]) -> Change:
    """Set these labels on a node; an existing label gets the new value."""

    def edit(obj: Object) -> None:
        metadata = at(obj, "metadata")
        metadata["labels"] = {**at(metadata, "labels"), **labels}

    noun = "label" if len(labels) == 1 else "labels"
    if node.labels.keys().isdisjoint(labels):
        text = f"add the {noun} {', '.join(f'{key}={value}' for key, value in labels.items())} to node {node.name}"
    else:
        shown = ", ".join(f"{key} from {node.labels.get(key, '')} to {value}" for key, value in labels.items())
        text = f"change the {noun} {shown} on node {node.name}"
    subject = ", ".join(sorted(labels))
    kind, size, details = ChangeKind.LABEL_NODE, len(labels), {"labels": dict(labels)}
    return Change(kind, text, subject, lambda case: case.with_node(node.name, edit), node.name, size, details)


def labels_for(node: NodeInfo, selected: Mapping[str, str], terms: NodeSelector | None = None) -> Iterator[Option]:
    """Yield the labels that a node selector and one of the terms require. Skip terms that need a label that the node
    has with another value, or that Kubernetes or a cloud sets."""
    missing = {key: value for key, value in selected.items() if node.labels.get(key) != value}
    found = [{}] if terms is None else [_labels_for_term(each, node) for each in terms.terms]
    for labels in sorted((each for each in found if each is not None), key=len):
        wanted = {**labels, **missing}
        if 0 < len(wanted) <= MAX_LABELS and not any(key in node.labels or is_of_provider(key) for key in wanted):
            yield (label_node(node, wanted),)


def _labels_for_term(term: NodeSelectorTerm, node: NodeInfo) -> Mapping[str, str] | None:
    """Return the labels that the node lacks; None if new labels do not help."""
    wrong = [each for each in term.expressions if not each.matches(node.labels)]
    if term.invalid or not all(field.matches(node.name) for field in term.fields):
        return None
    if not all(each.operator in (Operator.IN, Operator.EXISTS) for each in wrong):
        return None
    return {each.key: min(each.values) if each.operator is Operator.IN else "true" for each in wrong}


def uncordon(node: str) -> Change:
    """Make a cordoned node schedulable again."""

    def edit(obj: Object) -> None:
        spec = at(obj, "spec")
        spec["unschedulable"] = False
        spec["taints"] = [each for each in objects_in(spec.get("taints")) if each.get("key") != CORDON]

    return Change(ChangeKind.UNCORDON_NODE, f"uncordon node {node}", "", lambda case: case.with_node(node, edit), node)


def answers_to_taints(case: Case, node: NodeInfo) -> Iterator[Option]:
    """Uncordon the tainted node, and add tolerations for other taints to the pod. Yields nothing if a taint marks the
    node as broken, being removed, part of the control plane, or for other pods."""
    taints = TolerationIndex(case.pod.spec.tolerations).untolerated(node.taints)
    own = [each for each in taints if each.key != CORDON]
    is_fixed = any(is_node_state(each.key) or each.key in CONTROL_PLANE for each in own)
    if not own or not (is_fixed or _is_for_others(case, node, own)):
        cordon = (uncordon(node.name),) if len(own) < len(taints) else ()
        yield (*cordon, *(_tolerate(case, each) for each in own))


def _is_for_others(case: Case, node: NodeInfo, taints: Iterable[Taint]) -> bool:
    """Return whether the pod selects other nodes, or a taint keeps the node for pods that request its resource."""
    required, asked = required_of(case.pod), case.pod.spec.requests.asked
    if required is not None and not required.matches(node):
        return True
    return any(node.allocatable.get(each.key) and not asked.get(each.key) for each in taints)


def _tolerate(case: Case, taint: Taint) -> Change:
    toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}

    def edit(obj: Object) -> None:
        spec = at(obj, "spec")
        spec["tolerations"] = [*objects_in(spec.get("tolerations")), toleration]

    text = f"let {case.whom} tolerate {taint}"
    return of_pod(ChangeKind.ADD_TOLERATION, text, str(taint), edit, toleration=toleration)


def free(case: Case, pods: Iterable[Pod], shortages: Mapping[str, int], held: Held, node: str = "") -> Iterator[Option]:
    """Yield changes that end one pod, or the fewest pods, to release the missing amounts; the least important pods
    first. pods: the pods of one node or of a floating pool. Yields nothing if MAX_PODS pods release too little."""
    removable = _removable(case, pods)
    amounts = {pod.uid: {**held(pod), PODS: 1} for pod in removable}

    def share(pod: Pod) -> float:
        return sum(amounts[pod.uid].get(name, 0) / missing for name, missing in shortages.items())

    def is_enough(pods: Sequence[Pod]) -> bool:
        return all(sum(amounts[pod.uid].get(name, 0) for pod in pods) >= missing for name, missing in shortages.items())

    single = sorted((pod for pod in removable if is_enough([pod])), key=lambda pod: (pod.priority or 0, share(pod)))
    several = [pod for pod in removable if share(pod) > 0]
    several = sorted(several, key=lambda pod: (pod.priority or 0, -share(pod), pod.uid))[:MAX_PODS]
    enough = (several[:count] for count in range(2, len(several) + 1) if is_enough(several[:count]))
    for ended in (*([pod] for pod in single[:MAX_OPTIONS]), *islice(enough, 1)):
        yield (_end(case, ended, node, shortages, amounts),)


def end_blockers(case: Case, pods: Sequence[Pod], node: str = "") -> Iterator[Option]:
    """End the pods that keep the pod away. node: the node of the change; empty if the pods may be on any node."""
    if pods and len(pods) <= MAX_PODS and len(_removable(case, pods)) == len(pods):
        yield (_end(case, pods, node, {}, {}),)


def _removable(case: Case, pods: Iterable[Pod]) -> list[Pod]:
    """Return the pods that may be ended, the least important first. Leaves out pods of a higher priority and of
    the pod's own controller, which would replace them; and planned, terminating, static and DaemonSet pods."""
    own, planned = case.pod, {pod.uid for pod in case.planned}
    mates = (own.namespace, own.spec.controller)
    found = [
        pod
        for pod in pods
        if pod.controller_kind not in EVERY_NODE
        # A pod that is being deleted ends anyway.
        and not pod.terminating
        and pod.uid not in planned
        and (pod.priority or 0) <= (own.priority or 0)
        and (own.spec.controller is None or (pod.namespace, pod.spec.controller) != mates)
    ]
    return sorted(found, key=lambda pod: (pod.priority or 0, pod.uid))


def _end(
    case: Case, pods: Sequence[Pod], node: str, shortages: Mapping[str, int], amounts: Mapping[str, Mapping[str, int]]
) -> Change:
    short = {name: shown_amount(name, amount) for name, amount in shortages.items()}
    ends = ", ".join(f"{pod.namespace}/{pod.name}{_holding(amounts.get(pod.uid, {}), shortages)}" for pod in pods)
    missing = " and ".join("room for a pod" if name == PODS else f"{amount} {name}" for name, amount in short.items())
    nodes = sorted({pod.node_name for pod in pods})
    where = f" on {'node' if len(nodes) == 1 else 'nodes'} {', '.join(nodes)}" if node or not missing else ""
    violated = DisruptionBudgets(case.snapshot.disruption_budgets).violated(pods).values()
    budgets = sorted({budget for each in violated for budget in each})
    text = f"free {missing}{where}: end {ends}" if missing else f"end {ends}{where}"
    text += f"; PodDisruptionBudget {', '.join(budgets)} does not allow this eviction now" if budgets else ""
    subject = ",".join(sorted(name.partition("=")[0] for name in shortages))
    size = len(pods) + sum((pod.priority or 0) > 0 for pod in pods) / 10
    gone = Changes(pods_gone=[(pod.node_name, pod.uid) for pod in pods])
    details = {"pods": [f"{pod.namespace}/{pod.name}" for pod in pods], "free": short, "violates": budgets}
    kind, ended = ChangeKind.END_PODS, frozenset(pod.uid for pod in pods)
    return Change(kind, text, subject, lambda case: case.with_changes(gone), node, size, details, ended)


def with_waiting(changes: Option, waiting: Sequence[Pod]) -> Option:
    """Add to each change that ends some of these pods that their replacements then wait."""
    found = list[Change]()
    for each in changes:
        names = [f"{pod.namespace}/{pod.name}" for pod in waiting if pod.uid in each.ended]
        says = "its replacement then waits" if len(each.ended) == 1 else f"replacements then wait: {', '.join(names)}"
        text = each.text if not names or each.text.endswith(says) else f"{each.text}; {says}"
        found.append(replace(each, text=text, details={**each.details, "waiting": names}) if each.ended else each)
    return tuple(found)


def _holding(own: Mapping[str, int], wanted: Iterable[str]) -> str:
    named = (name for name in wanted if name != PODS and own.get(name))
    held = ", ".join(f"{shown_amount(name, own[name])} {name.partition('@')[0]}" for name in named)
    return f" (holds {held})" if held else ""


def add_nodes(case: Case, like: str, count: int = 1) -> Change:
    """Add nodes like this one, as `berth simulate --add-nodes` does."""
    text = f"add a node like {like}" if count == 1 else f"add {count} nodes like {like}"
    if pool := case.snapshot.nodes[like].labels.get("karpenter.sh/nodepool"):
        text += f", of NodePool {pool}"
    kind, new = ChangeKind.ADD_NODE, next(iter(case.with_new_nodes([like])[1]))
    details = {"like": like, "count": count}
    return Change(kind, text, "", lambda case: case.with_new_nodes([like], count)[0], new, count, details)
