"""The attempts to place one pod, as records of decisions have them, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class RejectedCount:
    """The nodes that one reason rejects: how many, and examples. code: a server may have codes of its own release."""

    code: str
    reason: str
    plugin: str
    count: int
    examples: Sequence[str]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of filter or filter_onlyone. at: seconds since the epoch. nodes: those that the scheduler asked about.
    feasible: None where no rule was applied. error: why the call failed; empty where it decided."""

    at: float
    verb: str
    outcome: str
    profile: str
    configuration_hash: str
    cache_age: float | None
    nodes: int
    feasible: int | None
    reasons: Sequence[RejectedCount]
    error: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether no node passed."""
        return self.feasible == 0 or bool(self.error)


@dataclass(frozen=True, slots=True)
class BindAttempt:
    """One call of bind. at: seconds since the epoch. error: empty where the pod is on the node."""

    at: float
    outcome: str
    node: str
    error: str


@dataclass(frozen=True, slots=True)
class Attempts:
    """The oldest first, at least one. is_complete: whether older attempts of this pod cannot have been dropped. bind:
    the one that followed the last attempt."""

    all: Sequence[Attempt]
    is_complete: bool
    bind: BindAttempt | None = None

    @property
    def last(self) -> Attempt:
        """The newest."""
        return self.all[-1]

    @property
    def is_pending(self) -> bool:
        """Whether the last attempt, or the bind that followed it, left the pod without a node."""
        return self.last.is_rejected if self.bind is None else bool(self.bind.error)

    @property
    def rejected_since(self) -> float:
        """When the first of the attempts was made that all rejected the pod up to the last one."""
        since = self.last.at
        for attempt in reversed(self.all):
            if not attempt.is_rejected:
                break
            since = attempt.at
        return since


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """What the last call of filter decided on one node. at: seconds since the epoch. was_asked: whether the request had
    the node. passes: with `reasons` empty. error: why the call failed."""

    at: float
    node: str
    was_asked: bool
    passes: bool
    reasons: Sequence[RejectedCount]
    error: str = ""


@dataclass(frozen=True, slots=True)
class NoRecord:
    """There are no attempts on record. reason: why, and what to do."""

    reason: str


class ReasonTrend(StrEnum):
    """What became of a reason since the attempt before. The names are part of the JSON output."""

    APPEARED = "appeared"
    GREW = "grew"
    SHRANK = "shrank"
    DISAPPEARED = "disappeared"


@dataclass(frozen=True, slots=True)
class ReasonChange:
    """before, now: the number of nodes that the reason rejects."""

    trend: ReasonTrend
    code: str
    reason: str
    plugin: str
    before: int
    now: int


def reason_changes(before: Attempt, now: Attempt) -> list[ReasonChange]:
    """The reasons whose number of nodes differs: those that hold now first, in their order. A call that failed has no
    reasons to compare."""
    if before.error or now.error:
        return []
    return list(_reason_changes(before, now))


def _reason_changes(before: Attempt, now: Attempt) -> Iterator[ReasonChange]:
    earlier = {(each.code, each.reason, each.plugin): each.count for each in before.reasons}
    for each in now.reasons:
        key = each.code, each.reason, each.plugin
        count = earlier.pop(key, 0)
        if count != each.count:
            trend = ReasonTrend.GREW if each.count > count else ReasonTrend.SHRANK
            yield ReasonChange(trend if count else ReasonTrend.APPEARED, *key, count, each.count)
    for key, count in earlier.items():
        yield ReasonChange(ReasonTrend.DISAPPEARED, *key, count, 0)


def policy_changed(before: Attempt, now: Attempt) -> bool:
    """Whether another configuration or profile decided."""
    return (before.configuration_hash, before.profile) != (now.configuration_hash, now.profile)
