"""The search: proposals for the closest nodes, the smallest first, each verified until the time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from berth.scheduling.framework.status import Status
from berth.scheduling.objects import NodeInfo
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option, size_of
from berth_cli.explain.counterfactuals.node_changes import add_node
from berth_cli.explain.counterfactuals.proposals import proposals, shortage
from berth_cli.explain.rules import Rules

MOST_RESULTS = 8
MOST_NODES = 40
"""Nodes for which changes are proposed."""

MOST_ALIKE = 3
"""Of the nodes that fail for the same reasons."""

MOST_COMBINATIONS = 48
"""For one node."""

MOST_CHANGES = 3
MOST_NEW_NODES = 5


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Changes after which the pod fits. fits: the nodes that take it then. Every rule was run on the changed state."""

    changes: Option
    fits: Sequence[str]


Signature = frozenset[tuple[ChangeKind, str]]


def search(case: Case, rules: Rules, is_over: Callable[[], bool]) -> list[Counterfactual]:
    """The smallest changes that place the pod, each of another kind or subject. None contains another one.

    is_over: asked before each verification.
    """
    found: dict[Signature, Counterfactual] = {}
    for changes in sorted(_candidates(case, rules), key=size_of):
        if is_over() or len(found) == MOST_RESULTS:
            break
        signature = frozenset((each.kind, each.subject) for each in changes)
        if any(smaller <= signature for smaller in found):
            continue
        fits = _verified(case, changes, rules)
        if fits:
            found[signature] = Counterfactual(changes, fits)
    return list(found.values())


def _verified(case: Case, changes: Sequence[Change], rules: Rules) -> Sequence[str]:
    """The nodes that pass every rule after the changes: of a changed node's case this node."""
    for each in changes:
        changed = each.apply(case)
        if changed is None:
            return ()
        case = changed
    targets = {each.node for each in changes if each.node}
    return rules.fitting(case.pod, sorted(targets or case.snapshot.nodes), case.snapshot)


def _candidates(case: Case, rules: Rules) -> Iterator[Option]:
    failing = rules.failing(case.pod, case.snapshot)
    for name in _closest(case, failing):
        yield from _for_node(case, case.snapshot.nodes[name], failing[name], rules)
    yield from ((add_node(name),) for name in _kinds_of_nodes(case, failing))


def _closest(case: Case, failing: Mapping[str, Sequence[Status]]) -> list[str]:
    """The rejected nodes with the fewest reasons and the smallest shortage; few of those that are alike."""
    order = sorted(
        (len(statuses), shortage(case, case.snapshot.nodes[name]), name)
        for name, statuses in failing.items()
        if statuses
    )
    alike: dict[tuple[tuple[str, ...], ...], int] = {}
    found = []
    for _, _, name in order:
        key = tuple(status.reasons for status in failing[name])
        alike[key] = alike.get(key, 0) + 1
        if alike[key] <= MOST_ALIKE:
            found.append(name)
    return found[:MOST_NODES]


def _for_node(case: Case, node: NodeInfo, statuses: Sequence[Status], rules: Rules) -> Iterator[Option]:
    """One option for each status, in all combinations."""
    options = [list(proposals(case, node, status, rules.berth.counting)) for status in statuses]
    if not all(options):
        return
    for chosen in islice(product(*options), MOST_COMBINATIONS):
        # Two reasons may have one answer: a cordoned node has a taint, too.
        changes = {(each.kind, each.subject, each.node): each for option in chosen for each in option}
        if len(changes) <= MOST_CHANGES:
            yield tuple(changes.values())


def _kinds_of_nodes(case: Case, failing: Mapping[str, Sequence[Status]]) -> list[str]:
    """A node of each kind: with the same resources and taints. Those with the fewest reasons come first."""
    kinds: dict[tuple[object, ...], str] = {}
    for name in sorted(failing, key=lambda each: (len(failing[each]), each)):
        node = case.snapshot.nodes[name]
        kinds.setdefault((tuple(sorted(node.allocatable.items())), node.taints), name)
    return list(islice(kinds.values(), MOST_NEW_NODES))
