"""Searches for changes that place a pod: proposes changes to the nodes with the fewest reasons against the pod, and
verifies each with all rules, the smallest first. In a gang, each change is verified with a plan of the whole gang."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, product

from berth.scheduling.framework.plugin import Code, Status
from berth.scheduling.framework.shipped_profiles import COUNTED_FILTER
from berth.scheduling.gangs.gang import GangError, GangWait
from berth.scheduling.gangs.members import lives
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.plugins.node_affinity import required_of
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.blockers import Blockers
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.change import ChangeKind, Option, create_members, lower_members, size_of
from berth_cli.explanation.counterfactuals.node_changes import add_nodes, with_waiting
from berth_cli.explanation.counterfactuals.proposals import Rejected, proposals, shortage
from berth_cli.explanation.rivals import IsOver, beside_rivals, first_taker, places_of, run_turns, taken_text
from berth_cli.explanation.rules import Rules
from berth_cli.placement.changed_objects import is_node_state, kinds_of_nodes
from berth_cli.placement.queue import build_queue, rank_of

SEARCH_SECONDS = 5.0
"""The time limit of the search. On a large cluster it is reached before all changes are tried."""

MAX_RESULTS = 8
MAX_CHANGES = 3
MAX_NODES = 40  # rejected nodes for which changes are proposed
MAX_RIVALS = 3  # additional new nodes, for pods that are tried first
MAX_ALIKE = 3  # nodes with the same reasons and taints that come before the others
MAX_COMBINATIONS = 48  # combined options for one node
MAX_KINDS = 5  # kinds of new nodes

OF_THE_CLUSTER = {
    *(ReasonCode.INSUFFICIENT_FLOATING_RESOURCE, ReasonCode.KEPT_FOR_HIGHER_PRIORITY, ReasonCode.REQUEST_ABOVE_POOL),
    *(ReasonCode.TOPOLOGY_SPREAD_SKEW, ReasonCode.POD_AFFINITY_MISMATCH, ReasonCode.POD_ANTI_AFFINITY_CONFLICT),
    ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT,
}
"""Reasons that the whole cluster or a domain may cause, so they may also apply to new nodes."""

ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Changes after which the pod fits, according to all rules on the changed state. fits: the nodes that then
    pass, with the pods that are tried first on their nodes. taker: the pod that takes this room first; may be None."""

    changes: Option
    fits: Sequence[str]
    taker: Pod | None = None


class SearchEnd(StrEnum):
    """Why a search ended. COMPLETE: all proposals were tried. The names are part of the JSON output."""

    COMPLETE = "complete"
    RESULTS = "results"
    TIME = "time"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search. found: the smallest changes first. tried: the number of rejected nodes for which changes
    were proposed; left_out: the number of the others. taken: names the pod that takes the room that other changes make.
    more_nodes_help: whether a new node like an existing one helps; None if only a node of another kind may help.
    keeps_pods: whether pods are not ended because their replacements are unknown."""

    found: Sequence[Counterfactual] = ()
    end: SearchEnd = SearchEnd.COMPLETE
    tried: int = 0
    left_out: int = 0
    taken: str = ""
    more_nodes_help: bool | None = None
    keeps_pods: bool = False


def search(case: Case, rules: Rules, is_over: IsOver) -> Search:
    """Find the smallest changes that place the pod, or its gang. is_over: called before each step."""
    is_member = rules.is_member(case.pod, case.snapshot)
    trial = _Trial(replace(case, in_gang=is_member), rules, is_over)
    trial, options, result = _of_gang(trial) if is_member else _of_pod(trial)
    findings, taken = list[Counterfactual](), ""
    for changes in sorted(options, key=size_of):
        if len(findings) == MAX_RESULTS or is_over():
            break
        # A changed node is meant for the pod; a gang may use other nodes, too.
        names = () if is_member else {each.node for each in changes if each.node}
        found = None if any(_covers(known, changes) for known in findings) else trial.of(changes, names)
        if found is None:
            continue
        if found.taker is None and not is_over():
            found = trial.without_needless(found)
            smaller = _signature(found.changes)
            findings = [*(known for known in findings if not smaller <= _signature(known.changes)), found]
        # A lower request does not make room, so no rival can take it.
        elif all(each.kind is not ChangeKind.LOWER_REQUEST for each in changes):
            taken = taken or taken_text(found.taker, case.pod)
    end = SearchEnd.NODES if result.left_out else SearchEnd.COMPLETE
    if is_over():
        end = SearchEnd.TIME
    elif len(findings) == MAX_RESULTS:
        end = SearchEnd.RESULTS
    findings.sort(key=lambda each: size_of(each.changes))
    keeps_pods = any(case.lacks_replacement_of(pod) for node in case.snapshot.nodes.values() for pod in node.pods)
    return replace(result, found=findings, end=end, taken=taken, keeps_pods=keeps_pods)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Tries changes of the case with all rules."""

    case: Case
    rules: Rules
    is_over: IsOver

    def of(self, changes: Option, names: Collection[str] = ()) -> Counterfactual | None:
        """Return the changes with their effect; None if they do not place the pod. names: the nodes that may take the
        pod; by default all."""
        changed: Case | None = self.case
        for each in changes:
            changed = changed and each.apply(changed)
        if changed is None:
            return None
        rules = self.rules.with_capacities(changed.capacities)
        if not places_of(changed, rules, names)[0]:
            return None
        taker, beside = first_taker(changed, rules, self.is_over)
        fits, placed = places_of(beside, rules, names)
        if taker is None and not fits:
            fits, placed = places_of(beside, rules)
        if taker is not None:
            return Counterfactual(changes, fits, taker)
        if not fits:
            return None
        waiting = _waiting_replacements(self.case, changes, beside, placed, rules, self.is_over)
        return None if waiting is None else Counterfactual(with_waiting(changes, waiting), fits)

    def places(self, changes: Option) -> Counterfactual | None:
        """Return the changes with their effect if the pod, or its gang, then has a place that no other pod takes."""
        found = self.of(changes)
        return None if found is None or found.taker is not None else found

    def without_needless(self, found: Counterfactual) -> Counterfactual:
        """Remove unnecessary changes: one may remove two reasons, and the pod may fit on another node with fewer."""
        changes = found.changes
        for index in range(len(changes)) if len(changes) > 1 else ():
            if fewer := self.places((*changes[:index], *changes[index + 1 :])):
                return self.without_needless(fewer)
        return found


def _covers(known: Counterfactual, changes: Option) -> bool:
    """Return whether `changes` are superfluous: they contain all changes of the known result, or the known result
    only ends pods, which they end, too."""
    ended = frozenset(uid for each in changes for uid in each.ended)
    return _signature(known.changes) <= _signature(changes) or all(
        each.ended and each.ended <= ended for each in known.changes
    )


def _signature(changes: Option) -> frozenset[tuple[str, str]]:
    return frozenset((each.kind, each.subject) for each in changes)


def _waiting_replacements(
    case: Case, changes: Option, changed: Case, placed: Sequence[Pod], rules: Rules, is_over: IsOver
) -> Sequence[Pod] | None:
    """Place the other waiting pods beside the placed pods, and the ended pods that their controllers create again.
    Return the ended pods whose replacements then wait; None if one of them must not wait or is unknown. With a floating
    pool, a pod of a lower priority may wait, because the rule keeps its share for the pod."""
    holds_share = {uid: bool(each.subject) and not each.node for each in changes for uid in each.ended}
    pods = (pod for each in case.snapshot.nodes.values() for pod in each.pods if pod.uid in holds_share)
    ended = [pod for pod in pods if pod.spec.controller is not None]
    if not ended or any(map(case.lacks_replacement_of, ended)):
        return None if ended else ()
    again = [case.replacement_of(pod) for pod in ended]
    followers = [pod for pod in case.followers if rank_of(pod) < max(map(rank_of, again))]
    beside, waiting = changed.snapshot.with_changes(Changes(pods=placed)), list[Pod]()
    # Most replacements that wait fit nowhere, even without the other pods, which may be many.
    for others in ([], followers) if followers else ([],):
        turns = run_turns(build_queue((*others, *again), ()).pods, beside, rules, is_over)
        found = {pod.uid for pods, _ in turns for pod in pods}
        waiting = [pod for pod, new in zip(ended, again, strict=True) if new.uid not in found]
        may_wait = all(holds_share[pod.uid] and (pod.priority or 0) < (case.pod.priority or 0) for pod in waiting)
        if not may_wait or is_over():
            return None
    return waiting


def _of_pod(trial: _Trial) -> tuple[_Trial, list[Option], Search]:
    """Propose changes for a pod that is placed alone, in the cluster with the pods that are tried first."""
    beside = beside_rivals(trial.case, trial.rules, trial.is_over)
    options, result = _for_nodes(beside, trial.rules, trial.is_over)
    kinds, help_of_nodes = _kinds(beside, trial.rules)
    for changes, like in kinds:
        # Rivals may take the first new nodes.
        counts = range(1, 2 + min(len(trial.case.rivals), MAX_RIVALS))
        options += [(*changes, add_nodes(trial.case, like, count)) for count in counts]
    return trial, options, replace(result, more_nodes_help=help_of_nodes)


def _for_nodes(case: Case, rules: Rules, is_over: IsOver) -> tuple[list[Option], Search]:
    """Propose, for the closest nodes, changes that remove every reason for the node's rejection."""
    failing, blockers = rules.failing(case.pod, case.snapshot.nodes, case.snapshot), Blockers(case.pod, case.snapshot)
    names, left_out = _closest(case, failing)
    options: list[Option] = []
    for name in names:
        if is_over():
            break
        options += _remedies(Rejected(case, case.snapshot.nodes[name], rules, blockers), failing[name])
    return options, Search(tried=len(names), left_out=left_out)


def _remedies(rejected: Rejected, statuses: Iterable[Status]) -> Iterator[Option]:
    """Yield changes that might remove all reasons for the node's rejection."""
    every = map(_merge, product(*(list(proposals(rejected, status)) for status in statuses)))
    return (each for each in islice(every, MAX_COMBINATIONS) if len(each) <= MAX_CHANGES)


def _kinds(case: Case, rules: Rules) -> tuple[Sequence[tuple[Option, str]], bool | None]:
    """Return changes of the pod with the model of a new node on which it then fits, the smallest changes first; and
    whether new nodes help without changes, as `more_nodes_help` of Search."""
    nodes = case.snapshot.nodes
    sound = {name for name, node in nodes.items() if _is_sound(node)}
    models = [min(kind, key=lambda name: (name not in sound, name)) for kind in kinds_of_nodes(nodes)]
    changed, likes = case.with_new_nodes(models)
    failing, blockers = rules.failing(case.pod, likes, changed.snapshot), Blockers(case.pod, changed.snapshot)
    found = [
        (changes, like)
        for new, like in likes.items()
        if like in sound
        for changes in _remedies(Rejected(changed, changed.snapshot.nodes[new], rules, blockers), failing[new])
        if not any(each.node for each in changes)
    ]
    # Options without ended pods come first: a replacement often takes the units again.
    found.sort(key=lambda each: (any(change.ended for change in each[0]), size_of(each[0])))
    return found[:MAX_KINDS], _help_of(changed, rules, failing)


def _is_sound(node: NodeInfo) -> bool:
    """Return whether the node can take pods now. Otherwise its node pool may be broken, so it is not a model."""
    is_up = node.ready in ("", "True") and node.phase in ("", "Running") and not node.defect
    return is_up and not node.unschedulable and not any(is_node_state(each.key) for each in node.taints)


def _help_of(case: Case, rules: Rules, failing: Mapping[str, Sequence[Status]]) -> bool | None:
    """Return whether new nodes help. case: with a new node of each kind. failing: the reasons against each new node."""
    codes = {name: {code for each in statuses for code in each.reason_codes} for name, statuses in failing.items()}
    if not all(codes.values()):
        return True
    required, spec, nodes = required_of(case.pod), case.pod.spec, case.snapshot.nodes
    selected = set() if required is None else {name for name, node in nodes.items() if required.matches(node)}
    if selected and selected.isdisjoint(codes):
        return False  # the pod selects nodes by their names
    closed = [name for name, found in codes.items() if found & OF_THE_CLUSTER]
    model = next((nodes[name] for name in closed if codes[name] <= OF_THE_CLUSTER), None)
    terms = (*spec.pod_affinity.required, *spec.pod_affinity.anti_required)
    keys = {ZONE, *rules.berth.counting.floating.label_keys, *(each.topology_key for each in terms)}
    keys |= {each.topology_key for each in spec.topology_spread}

    def is_selected(name: str) -> bool:
        """Return whether the pod's required node affinity allows a new node in the domain of this node."""
        if required is None or model is None:
            return True
        labels = {key: value for key, value in model.labels.items() if key not in keys}
        domain = {key: value for key, value in nodes[name].labels.items() if key in keys}
        return required.matches(replace(model, labels=labels | domain))

    return False if closed and not any(map(is_selected, codes.keys() - closed)) else None


def _of_gang(trial: _Trial) -> tuple[_Trial, list[Option], Search]:
    """Propose changes of a gang's next member, unless members contradict each other: they must be corrected first."""
    case, rules, is_over = trial.case, trial.rules, trial.is_over
    others = beside_rivals(case, rules, is_over)
    placement = rules.placement(others.pod, others.snapshot)
    if not isinstance(placement, GangPlacement) or (
        isinstance(placement.outcome, GangError) and placement.outcome is not GangError.LARGER_THAN_CLUSTER
    ):
        return trial, [], Search()
    if placement.outcome is GangWait.FOR_MEMBERS:
        return _of_incomplete_gang(trial, placement.members.gang.minimum)
    beside = next_member(others, placement)
    trial = replace(trial, case=case.rooted_at(beside.pod.uid))
    options, result = _for_nodes(beside, rules, is_over)
    # Place the pods that are tried first only once, because lower_members tries many amounts.
    room = replace(trial, case=replace(others.rooted_at(beside.pod.uid), rivals=()))
    options += lower_members(trial.case, lambda changes: not is_over() and room.places(changes) is not None)
    kinds, help_of_nodes = _kinds(beside, rules.without_gangs)
    counts = range(1, 1 + beside.missing + min(len(case.rivals), MAX_RIVALS))
    for changes, like in kinds:

        def fits(count: int, changes: Option = changes, like: str = like) -> bool:
            return not is_over() and trial.places((*changes, add_nodes(case, like, count))) is not None

        # The fewest nodes that are enough, if there are any.
        enough = counts[bisect_left(counts, True, key=fits) :][:1]
        options += [(*changes, add_nodes(case, like, count)) for count in enough]
    return trial, options, replace(result, more_nodes_help=help_of_nodes)


def _of_incomplete_gang(trial: _Trial, minimum: int) -> tuple[_Trial, list[Option], Search]:
    """Propose to create the missing members, with other changes only if they do not fit. A member that exists but does
    not count must be corrected instead."""
    case = trial.case
    members = case.snapshot.pods_by_gang.get((case.pod.namespace, gang_names(case.pod)[0]), {})
    missing = minimum - sum(map(lives, {**members, case.pod.uid: case.pod}.values()))
    if missing <= 0:
        return trial, [], Search()
    created = create_members(case.pod, missing)
    with_members = created.apply(case)
    if with_members is None or trial.places((created,)):
        return trial, [(created,)], Search()
    rooted, more, result = _of_gang(replace(trial, case=with_members))
    if rooted.case.pod.uid in case.snapshot.unbound:
        # Otherwise the next member is a new member, which is like the pod.
        trial = replace(trial, case=case.rooted_at(rooted.case.pod.uid))
    return trial, [(created, *each) for each in more], result


def next_member(case: Case, placement: GangPlacement) -> Case:
    """Return the first unplaced member, in the cluster with the placed members on their nodes."""
    left = [pod for pod in placement.members.waiting if pod.uid not in placement.places]
    root = case.rooted_at(left[0].uid) if left else case
    placed = [pod for pod in placement.placed if pod.uid != root.pod.uid]
    snapshot = root.snapshot.with_changes(Changes(pods_gone=[("", pod.uid) for pod in placed]))
    missing = max(1, placement.members.gang.minimum - len(placement.places))
    snapshot = snapshot.with_changes(Changes(pods=placed))
    return replace(root, snapshot=snapshot, planned=(*root.planned, *placed), missing=missing)


def _merge(options: Iterable[Option]) -> Option:
    """Merge changes that remove several reasons: a cordoned node also has a taint, and a pod ends only once."""
    found = {(each.kind, each.subject, each.node, each.ended): each for option in options for each in option}
    ended = [each.ended for each in found.values() if each.ended]
    return tuple(each for each in found.values() if not any(each.ended < other for other in ended if each.ended))


def _closest(case: Case, failing: Mapping[str, Sequence[Status]]) -> tuple[list[str], int]:
    """Return the rejected nodes closest to fitting, and the number of the others. The order is by number of reasons,
    lack of the counted resource, then shortage. Of nodes with equal reasons and taints, all but MAX_ALIKE are last."""
    rejected = {name: statuses for name, statuses in failing.items() if statuses}
    nodes = case.snapshot.nodes

    def distance(name: str) -> tuple[int, bool, float, str]:
        statuses = rejected[name]
        has_none = any(each.plugin == COUNTED_FILTER and each.code is not Code.UNSCHEDULABLE for each in statuses)
        return len(statuses), has_none, shortage(case, nodes[name]), name

    order, alike = sorted(rejected, key=distance), Counter[tuple[object, ...]]()
    first, others = list[str](), list[str]()
    for name in order:
        # Different taints cause the same reason, but need different tolerations.
        key = *rejected[name], *nodes[name].taints
        alike[key] += 1
        (first if alike[key] <= MAX_ALIKE else others).append(name)
    return [*first, *others][:MAX_NODES], max(0, len(order) - MAX_NODES)
