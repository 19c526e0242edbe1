"""Whether a node that an autoscaler adds would take the pod, and why none comes.

Cluster Autoscaler and Karpenter ask no extender (fact 48). Where kube-scheduler's own rules pass the pod on a node that
is there, they add none, and on a new node Berth may reject the pod again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice

from berth.scheduling.fields.reading import Object
from berth.scheduling.fields.resources import PODS
from berth.scheduling.gangs.gang import GangError, GangWait
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.case import Case, Edit
from berth_cli.explain.counterfactuals.gang_search import fewest, has_node, next_member
from berth_cli.explain.counterfactuals.node_pools import KIND, nodes_of_pool
from berth_cli.explain.rules import DecidedBy, Rejection, Rules

MOST_KINDS = 5
"""Of the nodes that are there, by resources, taints and the reasons that they are rejected for."""

MOST_TEMPLATES = 20
NEW_NODE = "{}-new"
SIZES = frozenset({ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.TOO_MANY_PODS})
LARGE = "1000000"
"""Of each resource that the pod asks for, in its own unit or in Ti."""


class NewNodeOutcome(StrEnum):
    """The names are part of the JSON output; the best comes first. TOO_SMALL: a larger one of the kind would take the
    pod."""

    TAKES = "takes-the-pod"
    TOO_SMALL = "too-small"
    REJECTED_BY_BERTH = "rejected-by-berth"
    REJECTED_BY_SCHEDULER = "rejected-by-kube-scheduler"


_ORDER = {outcome: rank for rank, outcome in enumerate(NewNodeOutcome)}


@dataclass(frozen=True, slots=True)
class NewNode:
    """What becomes of the pod on a new node. like: the node or the template. reason: empty where it takes the pod.
    count: how many such nodes it takes, of a gang the fewest with which all members that are needed have places."""

    like: str
    outcome: NewNodeOutcome
    reason: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class NewNodes:
    """fits_for_scheduler: nodes that are there, and that only Berth rejects: for them no node is added."""

    fits_for_scheduler: Sequence[str]
    kinds: Sequence[NewNode]

    @property
    def is_any_use(self) -> bool:
        """Whether some new node would take the pod, of any size."""
        return any(each.outcome in (NewNodeOutcome.TAKES, NewNodeOutcome.TOO_SMALL) for each in self.kinds)


AddNodes = Callable[[Case, Sequence[str]], Case | None]
"""The case with more nodes of one kind, under these names; None where they cannot be read."""


def new_nodes(case: Case, rules: Rules, rejected: Mapping[str, Rejection], templates: Iterable[Object]) -> NewNodes:
    """rejected: of the nodes that are there. templates: Nodes as groups of an autoscaler add them, and NodePools."""
    judge = _PodJudge(case, rules)
    if rules.is_member(case.pod, case.snapshot):
        placement = rules.placement(case.pod, case.snapshot)
        if isinstance(placement, GangPlacement) and lacks_room(placement):
            judge = _GangJudge.of(replace(case, in_gang=True), rules, placement)
            rejected = judge.rejected()
    kinds = (_best(judge, like, kinds) for like, kinds in _kinds(judge.case, rejected, templates))
    fits = [name for name, rejection in rejected.items() if rejection.by is DecidedBy.BERTH]
    return NewNodes(fits, [each for each in kinds if each is not None])


def lacks_room(placement: GangPlacement) -> bool:
    """Whether all that is missing are places."""
    outcome = placement.outcome
    is_invalid = isinstance(outcome, GangError) and outcome is not GangError.LARGER_THAN_CLUSTER
    return not is_invalid and outcome is not GangWait.FOR_MEMBERS


def _best(judge: _PodJudge, like: str, kinds: Iterable[AddNodes]) -> NewNode | None:
    """Of the nodes that one template may become; None where none can be read."""
    found = [judged for add in kinds if (judged := judge.judged(like, add)) is not None]
    return min(found, key=lambda each: (_ORDER[each.outcome], each.count), default=None)


@dataclass(frozen=True, slots=True)
class _PodJudge:
    """Judges new nodes for the pod of the case."""

    case: Case
    rules: Rules

    def judged(self, like: str, add: AddNodes) -> NewNode | None:
        """None where the node cannot be read."""
        new = NEW_NODE.format(like)
        changed = add(self.case, [new])
        if changed is None:
            return None
        rejection = self._rejection(changed, new)
        if rejection is None:
            return NewNode(like, NewNodeOutcome.TAKES, "")
        if rejection.by is DecidedBy.SCHEDULER and SIZES.issuperset(rejection.status.reason_codes):
            larger = changed.with_node(new, enlarged(self.case.pod))
            again = None if larger is None else self._rejection(larger, new)
            if again is None:
                return NewNode(like, NewNodeOutcome.TOO_SMALL, rejection.status.message)
            rejection = again
        is_berth = rejection.by is DecidedBy.BERTH
        outcome = NewNodeOutcome.REJECTED_BY_BERTH if is_berth else NewNodeOutcome.REJECTED_BY_SCHEDULER
        return NewNode(like, outcome, rejection.status.message)

    def rejected(self) -> Mapping[str, Rejection]:
        """The nodes that are there."""
        return self.rules.rejected(self.case.pod, list(self.case.snapshot.nodes), self.case.snapshot)

    def _rejection(self, case: Case, node: str) -> Rejection | None:
        return self.rules.rejected(case.pod, [node], case.snapshot).get(node)


@dataclass(frozen=True, slots=True)
class _GangJudge(_PodJudge):
    """Judges them for a gang that lacks room. case: its next member alone, beside those that have places. gang: the
    whole gang. missing: how many members have no place."""

    gang: Case
    gang_rules: Rules
    missing: int

    @classmethod
    def of(cls, gang: Case, rules: Rules, placement: GangPlacement) -> _GangJudge:
        """placement: of this gang."""
        missing = max(1, placement.members.gang.minimum - placement.most)
        return cls(next_member(gang, placement), rules.without_gangs, gang, rules, missing)

    def judged(self, like: str, add: AddNodes) -> NewNode | None:
        new = NEW_NODE.format(like)

        def is_enough(count: int) -> bool:
            changed = add(self.gang, [f"{new}-{number}" for number in range(count)])
            return changed is not None and has_node(changed, self.gang_rules)

        count = fewest(is_enough, self.missing, lambda: False)
        if count is not None:
            return NewNode(like, NewNodeOutcome.TAKES, "", count)
        alone = _PodJudge.judged(self, like, add)
        if alone is not None and alone.outcome is NewNodeOutcome.TAKES:
            # Each member fits on such a node, and all together they break a rule of their gang.
            return NewNode(like, NewNodeOutcome.REJECTED_BY_BERTH, str(GangWait.FOR_ROOM))
        return alone


def _kinds(
    case: Case, rejected: Mapping[str, Rejection], templates: Iterable[Object]
) -> Iterator[tuple[str, Iterable[AddNodes]]]:
    """The kinds of nodes that are there and of the templates, each with the nodes that it may become."""
    found: dict[tuple[object, ...], str] = {}
    for name in sorted(case.snapshot.nodes):
        node = case.snapshot.nodes[name]
        reasons = rejected[name].status.reasons if name in rejected else ()
        found.setdefault((tuple(sorted(node.allocatable.items())), node.taints, reasons), name)
    for like in islice(found.values(), MOST_KINDS):
        yield like, [partial(_add_like, like)]
    for template in islice(templates, MOST_TEMPLATES):
        name = str(_mapping(template, "metadata").get("name") or "template")
        yield name, [partial(_add_node, each) for each in _nodes_of(template, case)]


def _add_like(like: str, case: Case, names: Sequence[str]) -> Case | None:
    return case.with_nodes_like(like, names)


def _add_node(node: Object, case: Case, names: Sequence[str]) -> Case | None:
    for name in names:
        changed = case.with_new_node(name, node)
        if changed is None:
            return None
        case = changed
    return case


def _nodes_of(template: Object, case: Case) -> Iterator[Object]:
    """A Node as it is; of a NodePool nodes of any size."""
    if template.get("kind") != KIND:
        yield template
        return
    for node in nodes_of_pool(template, case.pod, case.snapshot):
        enlarged(case.pod)(node)
        yield node


def enlarged(pod: Pod) -> Edit:
    """Gives a node as much as any pod asks for."""
    resources = [*pod.spec.requests.asked, PODS]
    large = {name: f"{LARGE}Ti" if name in ("memory", "ephemeral-storage") else LARGE for name in resources}

    def edit(node: Object) -> None:
        status = _mapping(node, "status")
        node["status"] = {**status, "allocatable": {**_mapping(status, "allocatable"), **large}}

    return edit


def _mapping(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}
