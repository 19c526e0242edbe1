"""What became of each pod in one run, beside what became of it in another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.framework.status import Status
from berth.scheduling.reason_code import ReasonCode
from berth_cli.simulate.comparison.run import Place, PlaceKind, PodName, Run


class Effect(StrEnum):
    """What the change does to a pod."""

    SAME = "same"
    MOVED = "moved"
    NEWLY_PENDING = "newly-pending"
    NEWLY_PLACED = "newly-placed"
    EVICTED = "evicted"
    CREATED = "created"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the second run does not place a pod where the first one does: a plugin rejects that node, or, without a
    plugin, another node has a higher score. `code`: of the reason; None without a plugin."""

    node: str
    plugin: str
    reason: str
    code: ReasonCode | None = None

    @classmethod
    def of(cls, node: str, rejection: Status | None) -> Cause:
        """`rejection`: the node's status; None if the node is feasible."""
        if rejection is None:
            return cls(node, "", "another node has a higher score")
        return cls(node, rejection.plugin, rejection.message, rejection.reason_codes[0])

    def __str__(self) -> str:
        return f"{self.plugin} rejects {self.node}: {self.reason}" if self.plugin else self.reason


@dataclass(frozen=True, slots=True)
class PodComparison:
    """One pod in both runs. `cause`: why it is not where it was, if that is known."""

    pod: PodName
    priority: int
    before: Place
    after: Place
    cause: Cause | None = None

    @property
    def effect(self) -> Effect:
        """What the change does to the pod. A created pod without a node is newly pending."""
        before, after = self.before.kind, self.after.kind
        if after is PlaceKind.PENDING and before is not PlaceKind.PENDING:
            return Effect.NEWLY_PENDING
        if before is after:
            return Effect.SAME if self.before.node == self.after.node else Effect.MOVED
        if before is PlaceKind.ABSENT:
            return Effect.CREATED
        match after:
            case PlaceKind.ABSENT:
                return Effect.DELETED
            case PlaceKind.EVICTED:
                return Effect.EVICTED
            case _:
                return Effect.NEWLY_PLACED

    @property
    def name(self) -> str:
        """As messages write it."""
        return "/".join(self.pod)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, and the pods that either of them decided on: of higher priority first, then by name."""

    before: Run
    after: Run
    pods: tuple[PodComparison, ...]

    def count(self, effect: Effect) -> int:
        """How many pods the change does this to."""
        return sum(each.effect is effect for each in self.pods)


def compare(
    before: Run, after: Run, also: Iterable[PodName] = (), reasons: Mapping[PodName, Cause] | None = None
) -> Comparison:
    """Compare two runs. `also`: pods to list that no run decided on, such as deleted ones. `reasons`: why a pod does
    not stay where it was."""
    names = {*before.places, *after.places, *also}
    pods = _pods(before, after, names, {} if reasons is None else reasons)
    return Comparison(before, after, tuple(sorted(pods, key=lambda each: (-each.priority, each.pod))))


def _pods(
    before: Run, after: Run, names: Iterable[PodName], reasons: Mapping[PodName, Cause]
) -> Iterator[PodComparison]:
    for name in names:
        priority = after.priorities.get(name, before.priorities.get(name, 0))
        yield PodComparison(name, priority, before.place_of(name), after.place_of(name), reasons.get(name))
