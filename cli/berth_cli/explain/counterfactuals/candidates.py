"""What a search tries, and what it keeps: changes for the closest nodes, and those after which the pod fits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, combinations, islice, product

from berth.scheduling.framework.status import Status
from berth.scheduling.objects import NodeInfo
from berth_cli.explain.case import HOSTNAME, Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option, applied, size_of
from berth_cli.explain.counterfactuals.node_changes import add_nodes
from berth_cli.explain.counterfactuals.proposals import Rejected, proposals, shortage
from berth_cli.explain.rules import Rules

MOST_RESULTS = 8
MOST_NODES = 40
"""Nodes for which changes are proposed."""

MOST_ALIKE = 3
"""Of the nodes that fail for the same reasons."""

MOST_COMBINATIONS = 48
"""Of so many answers, for one node."""

MOST_CHANGES = 3
MOST_NEW_NODES = 5

IsOver = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Changes after which the pod fits. fits: the nodes that take it then. Every rule was run on the changed state."""

    changes: Option
    fits: Sequence[str]


class SearchEnd(StrEnum):
    """Why a search ended. COMPLETE: nothing else is proposed for any node. The names are part of the JSON output."""

    COMPLETE = "complete"
    RESULTS = "results"
    TIME = "time"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found, the smallest changes first. tried: for how many nodes changes were proposed."""

    found: Sequence[Counterfactual] = ()
    end: SearchEnd = SearchEnd.COMPLETE
    tried: int = 0


Signature = frozenset[tuple[ChangeKind, str]]


class Findings:
    """Counterfactuals, each of another kind or subject. None contains another one."""

    def __init__(self) -> None:
        self._found: dict[Signature, Counterfactual] = {}

    def __len__(self) -> int:
        return len(self._found)

    @property
    def all(self) -> list[Counterfactual]:
        """The smallest first."""
        return sorted(self._found.values(), key=lambda each: size_of(each.changes))

    def has_smaller(self, changes: Option) -> bool:
        """Whether some of these changes, or changes like them, are enough."""
        signature = _signature(changes)
        ended = {uid for each in changes for uid in each.ended}
        return any(smaller <= signature or _only_ends(known.changes, ended) for smaller, known in self._found.items())

    def add(self, changes: Option, fits: Sequence[str]) -> None:
        """Changes that `has_smaller` does not know, in place of those that contain them."""
        signature = _signature(changes)
        self._found = {known: each for known, each in self._found.items() if not signature <= known}
        self._found[signature] = Counterfactual(changes, fits)


def _only_ends(changes: Option, uids: Collection[str]) -> bool:
    """Whether the changes are that some of these pods end, and nothing else."""
    return all(each.ended and set(each.ended).issubset(uids) for each in changes)


def _signature(changes: Option) -> Signature:
    return frozenset((each.kind, each.subject) for each in changes)


def _placing(case: Case, changes: Option, rules: Rules) -> Sequence[str]:
    """All nodes that pass every rule after the changes."""
    changed = applied(changes, case)
    return () if changed is None else rules.fitting(changed.pod, sorted(changed.snapshot.nodes), changed.snapshot)


def without_needless(case: Case, changes: Option, fits: Sequence[str], rules: Rules) -> tuple[Option, Sequence[str]]:
    """The changes without those that are not needed, and the nodes that take the pod then: two reasons may have one
    answer, and fewer changes may make another node fit."""
    for index in range(len(changes)) if len(changes) > 1 else ():
        fewer = (*changes[:index], *changes[index + 1 :])
        if still := _placing(case, fewer, rules):
            return without_needless(case, fewer, still, rules)
    return changes, fits


@dataclass(frozen=True, slots=True)
class Candidate:
    """Changes that might place the pod. is_partial: they answer some reasons of a node, and perhaps the others too."""

    changes: Option
    is_partial: bool = False

    @property
    def order(self) -> tuple[int, tuple[int, int, float]]:
        """The smallest first. What answers only some reasons comes after what answers all with one change more: it
        seldom helps, and most of its kind are tried in vain."""
        return len(self.changes) + self.is_partial, size_of(self.changes)


class Candidates(Iterable[Candidate]):
    """Changes that might place the pod, in no order. is_cut: whether some were left out for their number."""

    def __init__(
        self,
        case: Case,
        rules: Rules,
        failing: Mapping[str, Sequence[Status]],
        nodes: Sequence[str],
        is_over: IsOver,
    ) -> None:
        """nodes: those that changes are proposed for."""
        self._case, self._rules, self._failing, self._nodes, self._is_over = case, rules, failing, nodes, is_over
        self.is_cut = False

    def __iter__(self) -> Iterator[Candidate]:
        for name in self._nodes:
            if self._is_over():
                return
            yield from self._for_node(self._case.snapshot.nodes[name], self._failing[name])
        yield from (Candidate((add_nodes(name),)) for name in kinds_of_nodes(self._case, self._failing))

    def _for_node(self, node: NodeInfo, statuses: Sequence[Status]) -> Iterator[Candidate]:
        """One option for each status, or for some of them: one answer may be one to others, too."""
        rejected = Rejected(self._case, node, self._rules)
        options = [list(proposals(rejected, status)) for status in statuses]
        counts = (len(options), *range(1, len(options)))
        for count in counts:
            every = (chosen for some in combinations(options, count) for chosen in product(*some))
            for chosen in islice(every, MOST_COMBINATIONS):
                merged = merge(chain.from_iterable(chosen))
                if len(merged) <= MOST_CHANGES:
                    yield Candidate(merged, count < len(options))
            self.is_cut = self.is_cut or next(every, None) is not None


def merge(changes: Iterable[Change]) -> Option:
    """Changes that answer several reasons, each once: a cordoned node has a taint, too, and a pod ends only once."""
    found: dict[tuple[str, ...], Change] = {}
    for each in changes:
        found.setdefault((each.kind, each.subject, each.node, *each.ended), each)
    kept: list[Change] = []
    for each in sorted(found.values(), key=lambda change: -len(change.ended)):
        if not each.ended or not any(set(each.ended) <= set(other.ended) for other in kept):
            kept.append(each)
    return tuple(each for each in found.values() if each in kept)


def closest(case: Case, failing: Mapping[str, Sequence[Status]]) -> tuple[list[str], bool]:
    """The rejected nodes with the fewest reasons and the smallest shortage, few of those that are alike; and whether
    others were left out."""
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
    return found[:MOST_NODES], len(order) > len(found[:MOST_NODES])


def kinds_of_nodes(case: Case, failing: Mapping[str, Sequence[Status]]) -> list[str]:
    """A node of each kind: first of other resources and taints, then of other labels. Those with the fewest reasons are
    first."""
    kinds: dict[object, str] = {}
    finer: dict[object, str] = {}
    for name in sorted(failing, key=lambda each: (len(failing[each]), each)):
        node = case.snapshot.nodes[name]
        kind = tuple(sorted(node.allocatable.items())), node.taints
        kinds.setdefault(kind, name)
        finer.setdefault((kind, frozenset(node.labels.items() - {(HOSTNAME, node.labels.get(HOSTNAME))})), name)
    return list(islice(dict.fromkeys((*kinds.values(), *finer.values())), MOST_NEW_NODES))
