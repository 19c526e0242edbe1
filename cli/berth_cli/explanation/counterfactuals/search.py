"""Searches for changes: proposals for the closest nodes, the smallest first, each verified by all rules, until the time
limit.

For a member of a gang each change is evaluated with a plan of the whole gang on all nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, product

from berth.scheduling.fields.taints import Taint
from berth.scheduling.framework.plugin import Code, Status
from berth.scheduling.framework.shipped_profiles import COUNTED_FILTER
from berth.scheduling.gangs.gang import GangError, GangWait
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.change import Change, Option, apply_all, size_of
from berth_cli.explanation.counterfactuals.node_changes import add_nodes
from berth_cli.explanation.counterfactuals.pod_changes import lower_size
from berth_cli.explanation.counterfactuals.proposals import Rejected, proposals, shortage
from berth_cli.explanation.rules import Rules

SEARCH_SECONDS = 5.0
"""The time limit of the search. On a large cluster it is reached before all changes are tried."""

MAX_RESULTS = 8
MAX_CHANGES = 3
MAX_NODES = 40
"""The maximum number of nodes for which changes are proposed."""

MAX_ALIKE = 3
"""The maximum number of nodes that fail for the same reasons and have the same taints."""

MAX_COMBINATIONS = 48
"""The maximum number of combinations of options for one node."""

MAX_KINDS = 5
"""The maximum number of kinds of new nodes to propose for the pod, or for the gang's next member."""

IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Changes after which the pod fits. fits: the nodes that then pass. All rules were run on the changed state."""

    changes: Option
    fits: Sequence[str]


class SearchEnd(StrEnum):
    """Why a search ended. COMPLETE: all proposals were tried. The names are part of the JSON output."""

    COMPLETE = "complete"
    RESULTS = "results"
    TIME = "time"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search, the smallest changes first. tried: the number of nodes for which changes were
    proposed."""

    found: Sequence[Counterfactual] = ()
    end: SearchEnd = SearchEnd.COMPLETE
    tried: int = 0


@dataclass(slots=True)
class _Candidates:
    """Changes that might place the pod. tried: the number of nodes. is_cut: whether nodes were left out."""

    options: list[Option]
    tried: int = 0
    is_cut: bool = False


def search(case: Case, rules: Rules, is_over: IsOver) -> Search:
    """Find the smallest changes that place the pod, or all members of its gang. is_over: called before each step."""
    is_member = rules.is_member(case.pod, case.snapshot)
    case = replace(case, in_gang=is_member)
    candidates = _of_gang(case, rules, is_over) if is_member else _for_nodes(case, rules, is_over)
    if not is_member:
        candidates.options += [(*changes, add_nodes(case, like)) for changes, like in _kinds(case, rules)]
    findings = _Findings()
    for changes in sorted(candidates.options, key=size_of):
        if len(findings) == MAX_RESULTS or is_over():
            break
        changed = None if findings.contains_subset_of(changes) else apply_all(changes, case)
        if changed is not None:
            # Without a gang, a change of one node is for that node; with a gang, another node may be used.
            names = () if is_member else {each.node for each in changes if each.node}
            after = rules.with_capacities(changed.capacities)
            fits = after.fitting(changed.pod, sorted(names or changed.snapshot.nodes), changed.snapshot)
            if fits and _replacements_fit(case, changes, changed, fits[0], after.without_gangs):
                findings.add(*_without_needless(case, changes, fits, rules))
    end = SearchEnd.NODES if candidates.is_cut else SearchEnd.COMPLETE
    if is_over():
        end = SearchEnd.TIME
    elif len(findings) == MAX_RESULTS:
        end = SearchEnd.RESULTS
    return Search(findings.all, end, candidates.tried)


class _Findings:
    """Counterfactuals, each of a different kind or subject. They do not contain each other."""

    def __init__(self) -> None:
        self._found: dict[frozenset[tuple[str, str]], Counterfactual] = {}

    def __len__(self) -> int:
        return len(self._found)

    @property
    def all(self) -> list[Counterfactual]:
        """The counterfactuals, the smallest first."""
        return sorted(self._found.values(), key=lambda each: size_of(each.changes))

    def contains_subset_of(self, changes: Option) -> bool:
        """Return whether a subset of these changes, or changes like them, is enough."""
        signature = _signature(changes)
        ended = frozenset(uid for each in changes for uid in each.ended)
        return any(
            smaller <= signature or all(each.ended and each.ended <= ended for each in known.changes)
            for smaller, known in self._found.items()
        )

    def add(self, changes: Option, fits: Sequence[str]) -> None:
        """Add changes for which `contains_subset_of` is false, and remove changes that contain them."""
        signature = _signature(changes)
        self._found = {known: each for known, each in self._found.items() if not signature <= known}
        self._found[signature] = Counterfactual(changes, fits)


def _signature(changes: Option) -> frozenset[tuple[str, str]]:
    return frozenset((each.kind, each.subject) for each in changes)


def _replacements_fit(case: Case, changes: Option, changed: Case, node: str, rules: Rules) -> bool:
    """Return whether the ended pods that their controllers create again fit beside the pod on this node: otherwise
    another pod would wait instead. With a floating pool, a pod of a lower priority may wait: the rule keeps its share
    for the pod."""
    ended = {uid: not each.node for each in changes for uid in each.ended}
    snapshot = changed.snapshot.with_changes(Changes(pods=(replace(changed.pod, node_name=node),)))
    for pod in (pod for each in case.snapshot.nodes.values() for pod in each.pods if pod.uid in ended):
        may_wait = ended[pod.uid] and (pod.priority or 0) < (case.pod.priority or 0)
        if pod.spec.controller is not None and not may_wait:
            again = replace(pod, uid=f"{pod.uid}.again", node_name="")
            fits = rules.fitting(again, sorted(snapshot.nodes), snapshot)
            if not fits:
                return False
            snapshot = snapshot.with_changes(Changes(pods=(replace(again, node_name=fits[0]),)))
    return True


def _without_needless(case: Case, changes: Option, fits: Sequence[str], rules: Rules) -> tuple[Option, Sequence[str]]:
    """Remove unnecessary changes; return the rest, and the nodes that the pod then fits on. Two reasons may have one
    remedy, and fewer changes may make another node fit."""
    for index in range(len(changes)) if len(changes) > 1 else ():
        fewer = (*changes[:index], *changes[index + 1 :])
        changed = apply_all(fewer, case)
        if changed is not None and (still := _fitting(changed, rules)):
            return _without_needless(case, fewer, still, rules)
    return changes, fits


def _fitting(case: Case, rules: Rules) -> Sequence[str]:
    return rules.with_capacities(case.capacities).fitting(case.pod, sorted(case.snapshot.nodes), case.snapshot)


def _for_nodes(case: Case, rules: Rules, is_over: IsOver) -> _Candidates:
    """Propose, for the closest nodes, changes that remove every reason for the node's rejection."""
    failing = rules.failing(case.pod, case.snapshot.nodes, case.snapshot)
    names, is_cut = _closest(case, failing)
    found = _Candidates([], len(names), is_cut)
    for name in names:
        if is_over():
            break
        found.options += _remedies(case, case.snapshot.nodes[name], failing[name], rules)
    return found


def _remedies(case: Case, node: NodeInfo, statuses: Iterable[Status], rules: Rules) -> Iterator[Option]:
    """Yield changes that might remove all reasons for the node's rejection."""
    rejected = Rejected(case, node, rules)
    every = map(_merge, product(*(list(proposals(rejected, status)) for status in statuses)))
    return (each for each in islice(every, MAX_COMBINATIONS) if len(each) <= MAX_CHANGES)


def _kinds(case: Case, rules: Rules) -> Sequence[tuple[Option, str]]:
    """Return an existing node of each kind if the pod fits on a new node of that kind, with the changes of the pod that
    it needs there. The smallest changes are first."""
    changed, likes = case.with_one_of_each_kind()
    if changed is None:
        return ()
    failing = rules.failing(case.pod, likes, changed.snapshot)
    found = [
        (changes, like)
        for new, like in likes.items()
        for changes in _remedies(changed, changed.snapshot.nodes[new], failing[new], rules)
        if not any(each.node for each in changes)
    ]
    # A pod that ends is often replaced, and then its units are taken again.
    return sorted(found, key=lambda each: (any(change.ended for change in each[0]), size_of(each[0])))[:MAX_KINDS]


def _of_gang(case: Case, rules: Rules, is_over: IsOver) -> _Candidates:
    """Propose changes for the gang; nothing if its members contradict each other, because they must be corrected
    first."""
    placement = rules.placement(case.pod, case.snapshot)
    if not isinstance(placement, GangPlacement):
        return _Candidates([])
    outcome, minimum, waiting = placement.outcome, placement.members.gang.minimum, len(placement.members.waiting)
    if isinstance(outcome, GangError) and outcome is not GangError.LARGER_THAN_CLUSTER:
        return _Candidates([])
    if outcome is GangWait.FOR_MEMBERS:
        return _Candidates([*lower_size(minimum, waiting)])
    beside = next_member(case, placement)
    found = _for_nodes(beside, rules, is_over)
    found.options = [tuple(_change_for_member(beside.pod.uid, change) for change in option) for option in found.options]
    if not isinstance(outcome, GangPlan):
        found.options += lower_size(minimum, len(placement.places))
    for changes, like in _kinds(beside, rules.without_gangs):
        option = tuple(_change_for_member(beside.pod.uid, change) for change in changes)
        count = _fewest(case, rules, option, like, max(1, minimum - len(placement.places)), is_over)
        found.options += [(*option, add_nodes(case, like, count))] if count else []
    return found


def _fewest(case: Case, rules: Rules, changes: Option, like: str, most: int, is_over: IsOver) -> int | None:
    """Return the fewest new nodes on which the gang fits after the changes; None if `most` nodes are not enough."""

    def is_enough(count: int) -> bool:
        changed = apply_all((*changes, add_nodes(case, like, count)), case)
        return changed is not None and bool(_fitting(changed, rules))

    if is_over() or not is_enough(most):
        return None
    fails, enough = 0, most
    while enough - fails > 1 and not is_over():
        middle = (fails + enough) // 2
        fails, enough = (fails, middle) if is_enough(middle) else (middle, enough)
    return enough


def next_member(case: Case, placement: GangPlacement) -> Case:
    """Return the first unplaced member, in the cluster with the placed members on their nodes."""
    left = [pod for pod in placement.members.waiting if pod.uid not in placement.places]
    root = case.rooted_at(left[0].uid) if left else case
    placed = [pod for pod in placement.placed if pod.uid != root.pod.uid]
    snapshot = root.snapshot.with_changes(Changes(pods_gone=[("", pod.uid) for pod in placed]))
    missing = max(1, placement.members.gang.minimum - len(placement.places))
    snapshot = snapshot.with_changes(Changes(pods=placed))
    return replace(root, snapshot=snapshot, planned=tuple(placed), missing=missing)


def _change_for_member(uid: str, change: Change) -> Change:
    """Return the change for this member and those like it, whichever member is the pod of the case."""

    def apply(case: Case) -> Case | None:
        changed = change.apply(case.rooted_at(uid))
        return None if changed is None else changed.rooted_at(case.pod.uid)

    return replace(change, apply=apply)


def _merge(options: Iterable[Option]) -> Option:
    """Merge changes that remove several reasons: a cordoned node also has a taint, and a pod ends only once."""
    found = {(each.kind, each.subject, each.node, each.ended): each for option in options for each in option}
    ended = [each.ended for each in found.values() if each.ended]
    return tuple(each for each in found.values() if not any(each.ended < other for other in ended if each.ended))


def _closest(case: Case, failing: Mapping[str, Sequence[Status]]) -> tuple[list[str], bool]:
    """Return the rejected nodes with the fewest reasons and the smallest shortage, few of each kind; and whether other
    nodes were left out. A node that has none of a counted resource comes after those where it is used up."""
    rejected = {name: statuses for name, statuses in failing.items() if statuses}
    nodes = case.snapshot.nodes

    def distance(name: str) -> tuple[int, bool, float, str]:
        statuses = rejected[name]
        has_none = any(each.plugin == COUNTED_FILTER and each.code is not Code.UNSCHEDULABLE for each in statuses)
        return len(statuses), has_none, shortage(case, nodes[name]), name

    order = sorted(rejected, key=distance)
    alike: Counter[tuple[tuple[Status, ...], frozenset[Taint]]] = Counter()
    found = []
    for name in order:
        # All taints have one reason, and each needs another toleration.
        key = tuple(rejected[name]), frozenset(nodes[name].taints)
        alike[key] += 1
        if alike[key] <= MAX_ALIKE:
            found.append(name)
    return found[:MAX_NODES], len(order) > len(found[:MAX_NODES])
