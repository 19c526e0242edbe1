"""The search for a member of a gang: every change is judged with the whole gang planned on all nodes.

One change may bring the gang only closer: from there the search goes on, with a few of the closest states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from berth.scheduling.gangs.gang import GangError, GangWait, InvalidGang
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals import gang_changes
from berth_cli.explain.counterfactuals.candidates import (
    MOST_CHANGES,
    MOST_RESULTS,
    Candidates,
    Findings,
    IsOver,
    Search,
    SearchEnd,
    closest,
    kinds_of_nodes,
    without_needless,
)
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option, applied, size_of
from berth_cli.explain.counterfactuals.node_changes import add_nodes
from berth_cli.explain.counterfactuals.proposals import shortages
from berth_cli.explain.counterfactuals.resource_changes import lower_request, rounded
from berth_cli.explain.rules import Rules

MOST_STATES = 3
"""From which the search goes on at each step."""

MOST_AMOUNTS = 500
"""Of one resource, that are tried for a request of every member."""


@dataclass(frozen=True, slots=True)
class _State:
    """The case after some changes. progress: how far the gang is; more is closer."""

    case: Case
    changes: Option
    progress: tuple[bool, int, int]


def search_for_gang(case: Case, rules: Rules, is_over: IsOver) -> Search:
    """The smallest changes after which the pod has a node together with its gang."""
    findings, is_cut, tried = Findings(), False, 0
    states = [_State(case, (), progress_of(case, rules))]
    for _ in range(MOST_CHANGES):
        following: list[_State] = []
        for state in states:
            proposed = GangCandidates(state.case, rules, is_over)
            for option in sorted(proposed, key=size_of):
                changes = (*state.changes, *option)
                if is_over() or len(findings) == MOST_RESULTS:
                    break
                if findings.has_smaller(changes) or len(changes) > MOST_CHANGES:
                    continue
                changed = applied(option, state.case)
                if changed is None:
                    continue
                fits = rules.fitting(changed.pod, list(changed.snapshot.nodes), changed.snapshot)
                if fits:
                    findings.add(*without_needless(case, changes, fits, rules))
                elif (progress := progress_of(changed, rules)) > state.progress:
                    following.append(_State(changed, changes, progress))
            is_cut, tried = is_cut or proposed.is_cut, max(tried, proposed.tried)
        following.sort(key=lambda each: (tuple(-part for part in each.progress), size_of(each.changes)))
        is_cut, states = is_cut or len(following) > MOST_STATES, following[:MOST_STATES]
    return Search(findings.all, _end(findings, is_over, is_cut=is_cut), tried)


def _end(findings: Findings, is_over: IsOver, *, is_cut: bool) -> SearchEnd:
    if len(findings) == MOST_RESULTS:
        return SearchEnd.RESULTS
    if is_over():
        return SearchEnd.TIME
    return SearchEnd.NODES if is_cut else SearchEnd.COMPLETE


def progress_of(case: Case, rules: Rules) -> tuple[bool, int, int]:
    """Whether the gang can be read, how many members wait, at most as many as it needs, and how many have places."""
    placement = rules.placement(case.pod, case.snapshot)
    if not isinstance(placement, GangPlacement) or placement.members.error is not None:
        return False, 0, 0
    return True, min(len(placement.members.waiting), placement.members.gang.minimum), placement.most


class GangCandidates(Iterable[Option]):
    """Changes that might bring the gang closer, in no order. tried: for how many nodes changes were proposed. is_cut:
    whether some were left out for their number. Both are known when all are given."""

    def __init__(self, case: Case, rules: Rules, is_over: IsOver) -> None:
        self._case, self._rules, self._is_over = case, rules, is_over
        self.tried, self.is_cut = 0, False

    def __iter__(self) -> Iterator[Option]:
        placement = self._rules.placement(self._case.pod, self._case.snapshot)
        if placement is None:
            return
        if isinstance(placement, InvalidGang):
            yield from gang_changes.corrections(self._case, placement.error, self._most_members)
            return
        if isinstance(placement.outcome, GangError) and placement.outcome is not GangError.LARGER_THAN_CLUSTER:
            yield from gang_changes.corrections(self._case, placement.outcome, self._most_members)
            return
        minimum, waiting = placement.members.gang.minimum, len(placement.members.waiting)
        if placement.outcome is GangWait.FOR_MEMBERS:
            yield from gang_changes.more_members(self._case, minimum - waiting)
            yield from gang_changes.lower_size(self._case, minimum, waiting)
            return
        if not isinstance(placement.outcome, GangPlan):
            yield from gang_changes.lower_size(self._case, minimum, placement.most)
        yield from self._for_room(placement)

    def _for_room(self, placement: GangPlacement) -> Iterator[Option]:
        """For the next member, beside those that have places."""
        beside = next_member(self._case, placement)
        failing = self._rules.failing(beside.pod, beside.snapshot)
        nodes, is_cut = closest(beside, failing)
        candidates = Candidates(beside, self._rules, failing, nodes, self._is_over)
        for each in candidates:
            # More nodes follow, as many as the gang needs.
            if not each.is_partial and all(change.kind is not ChangeKind.ADD_NODE for change in each.changes):
                yield tuple(_made_to(beside.pod.uid, change) for change in each.changes)
        self.tried, self.is_cut = len(nodes), is_cut or candidates.is_cut
        short = {name for each in nodes for name in shortages(beside.pod, beside.snapshot.nodes[each])}
        for name in sorted(short & beside.pod.spec.requests.asked.keys()):
            yield from self._lower_request(beside, name)
        missing = max(1, placement.members.gang.minimum - placement.most)
        for like in kinds_of_nodes(beside, failing):
            count = self._fewest(lambda number, like=like: add_nodes(like, number), missing)  # type: ignore[misc]
            if count:
                yield (add_nodes(like, count),)

    def _lower_request(self, beside: Case, name: str) -> Iterator[Option]:
        """The largest request of every like member with which the pod has a node."""
        asked, uid = beside.pod.spec.requests.asked[name], beside.pod.uid
        alike = 1 + len(beside.mates)
        rooms = {node.free.get(name, 0) for node in self._case.snapshot.nodes.values()}
        shares = {rounded(name, room // count) for room in rooms for count in range(1, alike + 1)}
        amounts = sorted((each for each in shares if 0 < each < asked), reverse=True)[:MOST_AMOUNTS]

        def change(number: int) -> Change:
            return _made_to(uid, lower_request(beside, name, amounts[number - 1]))

        at = self._fewest(change, len(amounts)) if amounts else None
        if at:
            yield (change(at),)

    def _fewest(self, change: Callable[[int], Change], most: int) -> int | None:
        """The smallest number, from 1, with which the change is enough; None where `most` is not."""
        return fewest(lambda number: self._places(change(number)), most, self._is_over)

    def _places(self, change: Change) -> bool:
        changed = change.apply(self._case)
        return changed is not None and has_node(changed, self._rules)

    @property
    def _most_members(self) -> int:
        return self._rules.configuration.gangs.max_members


def has_node(case: Case, rules: Rules) -> bool:
    """Whether the pod has a node, with the whole gang planned on all nodes."""
    return bool(rules.fitting(case.pod, list(case.snapshot.nodes), case.snapshot))


def fewest(is_enough: Callable[[int], bool], most: int, is_over: IsOver) -> int | None:
    """The smallest number from 1 to `most` that is enough, where a larger one is, too; None where none is."""
    if is_over() or not is_enough(most):
        return None
    fails, enough = 0, most
    while enough - fails > 1 and not is_over():
        middle = (fails + enough) // 2
        fails, enough = (fails, middle) if is_enough(middle) else (middle, enough)
    return enough


def next_member(case: Case, placement: GangPlacement) -> Case:
    """The first member without a place, in the cluster where those with places are on their nodes."""
    left = [pod for pod in placement.members.waiting if pod.uid not in placement.places]
    root = case.rooted_at(left[0].uid) if left else case
    placed = [pod for pod in placement.placed if pod.uid != root.pod.uid]
    snapshot = root.snapshot.with_changes(Changes(pods_gone=[("", pod.uid) for pod in placed]))
    return replace(root, snapshot=snapshot.with_changes(Changes(pods=placed)), planned=tuple(placed))


def _made_to(uid: str, change: Change) -> Change:
    """The change as it is made to this member, and to those like it, whichever member the case is about."""

    def apply(case: Case) -> Case | None:
        if uid != case.pod.uid and uid not in case.snapshot.unbound:
            # A change that was left out has made this member.
            return None
        changed = change.apply(case.rooted_at(uid))
        return None if changed is None else changed.rooted_at(case.pod.uid)

    return replace(change, apply=apply)
