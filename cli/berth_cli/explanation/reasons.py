"""Groups rejected nodes by reason, the most useful reason first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from berth.scheduling.fields.requirements import Operator
from berth.scheduling.objects import Pod
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.rules import DecidedBy, Rejection
from berth_cli.terminal.input_files import MAX_NAMES


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a rule rejects nodes. by: the owner of the rule."""

    by: DecidedBy
    plugin: str
    text: str
    code: ReasonCode


Reasons = Mapping[Reason, Sequence[str]]
"""Maps reasons to the nodes that they reject, the nodes that are meant for the pod first. A node may have several
reasons."""

# Nodes with these reasons are not meant for the pod, or are unavailable to all pods now.
_NOT_MEANT = 1
_OTHER_NODES = {
    ReasonCode.NODE_AFFINITY_MISMATCH: _NOT_MEANT,
    ReasonCode.ADDED_NODE_AFFINITY_MISMATCH: _NOT_MEANT,
    ReasonCode.NODE_UNSCHEDULABLE: 2,
    ReasonCode.NODE_NOT_READY: 2,
    ReasonCode.NODE_NOT_RUNNING: 2,
    ReasonCode.UNTOLERATED_TAINT: 3,
    ReasonCode.NODE_RESERVED: 3,
    ReasonCode.NODE_NAME_MISMATCH: 3,
}


def by_reason(rejected: Mapping[str, Rejection], pod: Pod, snapshot: Snapshot) -> Reasons:
    """Group the nodes: first reasons of nodes that could otherwise take the pod, then by number of nodes."""
    found: dict[Reason, list[str]] = {}
    for name, rejection in rejected.items():
        status = rejection.status
        for text, code in zip(status.reasons, status.reason_codes, strict=True):
            found.setdefault(Reason(rejection.by, status.plugin, text, code), []).append(name)
    others = _others(pod, snapshot)

    def order(item: tuple[Reason, list[str]]) -> tuple[int, int, str]:
        (reason, nodes), place = item, _OTHER_NODES.get(item[0].code, 0)
        if others.issuperset(nodes):
            place = max(place, _NOT_MEANT)
        elif others and reason.code is ReasonCode.UNTOLERATED_TAINT:
            place = 0  # of the few nodes that the pod selects, and that have what it requests
        return place, -len(nodes), reason.text

    return {reason: sorted(nodes, key=others.__contains__) for reason, nodes in sorted(found.items(), key=order)}


def _others(pod: Pod, snapshot: Snapshot) -> frozenset[str]:
    """Return the nodes that the pod does not select, or that lack a resource that it requests. What all nodes lack is
    left out: it may be counted."""
    nodes, found = snapshot.nodes, set[str]()
    lacking = [
        {name for name, node in nodes.items() if not node.allocatable.get(resource)}
        for resource in pod.spec.requests.asked
    ]
    required = required_of(pod)
    if required is not None:
        lacking.append({name for name, node in nodes.items() if not required.matches(node)})
    for names in lacking:
        found |= names if len(names) < len(nodes) else set()
    return frozenset(found)


def missing_labels(pod: Pod, snapshot: Snapshot) -> Iterator[str]:
    """Yield the labels that the pod requires and that no node has, with the values that nodes have instead."""
    required = pod.spec.node_affinity.required
    wanted = {key: frozenset([value]) for key, value in (pod.spec.node_selector or {}).items()}
    if required is not None and len(required.terms) == 1:
        expressions = required.terms[0].expressions
        wanted |= {each.key: frozenset(each.values) for each in expressions if each.operator is Operator.IN}
    for key, values in wanted.items():
        known = sorted({node.labels[key] for node in snapshot.nodes.values() if key in node.labels})
        if values.isdisjoint(known):
            more = f" and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
            instead = f"; did you mean {', '.join(known[:MAX_NAMES])}{more}?" if known else ""
            yield f"no node has {key}={' or '.join(sorted(values))}{instead}"
