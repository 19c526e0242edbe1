"""The cases of the table: an extender, and what is different from the plain case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase


class Extender(StrEnum):
    """What the scheduler calls.

    NULL: answers as BERTH does, without looking, with the HTTP server of `berth serve`. GO_FULL: gets whole nodes. The
    rest is `berth serve`. ONLYONE: filter passes one node, and prioritize is not called. COUNTED, RULES: bind is called
    for counted resources and under a rule about other pods.
    """

    NONE = "none"
    NULL = "null"
    NULL_ONLYONE = "null-onlyone"
    GO_FULL = "go-full"
    BERTH = "berth"
    BERTH_ONLYONE = "berth-onlyone"
    BERTH_FULL = "berth-full"
    BERTH_COUNTED = "berth-counted"
    BERTH_RULES = "berth-rules"

    @property
    def passes_one(self) -> bool:
        """Whether its filter passes one node only."""
        return self in (Extender.NULL_ONLYONE, Extender.BERTH_ONLYONE)

    @property
    def binds(self) -> bool:
        """Whether Berth binds. Then concurrent binds may conflict, and several schedulers are measured."""
        return self in (Extender.BERTH_COUNTED, Extender.BERTH_RULES)


class Pods(StrEnum):
    """IDENTICAL: of one controller. MIXED: of many controllers with different requests, labels and affinity."""

    IDENTICAL = "identical"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Case:
    """`events`: node changes a second. `pending`: pods that Berth rejects on every node. `delay`: milliseconds before
    each call. `schedulers`: each has pods of its own."""

    extender: Extender
    pods: Pods = Pods.IDENTICAL
    events: int = 0
    pending: int = 0
    delay: int | None = None
    schedulers: int = 1

    @property
    def name(self) -> str:
        """Of the extender, and of each difference after a dot. It stays the same over releases."""
        differences = [
            "mixed" if self.pods is Pods.MIXED else "",
            f"pending-{self.pending}" if self.pending else f"events-{self.events}" if self.events else "",
            "" if self.delay is None else f"delay-{self.delay}",
            f"schedulers-{self.schedulers}" if self.extender.binds else "",
        ]
        return ".".join([self.extender, *(each for each in differences if each)])


_CACHE_MODE = (Extender.NULL, Extender.NULL_ONLYONE, Extender.BERTH, Extender.BERTH_ONLYONE)

CASES: Sequence[Case] = (
    *(Case(extender) for extender in Extender if not extender.binds),
    *(Case(extender, pods=Pods.MIXED) for extender in (Extender.NONE, *_CACHE_MODE, Extender.BERTH_FULL)),
    *(Case(extender, events=events) for events in (1, 10) for extender in (Extender.NONE, *_CACHE_MODE)),
    # Pending pods are tried again when something happens: so there is an event a second.
    *(Case(extender, events=1, pending=pending) for pending in (10, 100) for extender in _CACHE_MODE),
    # A delay of 0 shows what the proxy itself takes.
    *(Case(extender, delay=delay) for delay in (0, 10, 20, 40) for extender in _CACHE_MODE),
    *(Case(extender, schedulers=number) for extender in Extender if extender.binds for number in (1, 8)),
)
SMALL = ("none", "null", "berth", "berth-onlyone")

BASELINES = {
    Extender.BERTH: Extender.NULL,
    Extender.GO_FULL: Extender.NULL,
    Extender.BERTH_FULL: Extender.NULL,
    Extender.BERTH_ONLYONE: Extender.NULL_ONLYONE,
}


@dataclass(frozen=True, slots=True)
class Target:
    """The least ratio of a case to another one, with so many nodes."""

    case: Case
    to: Case
    nodes: int
    least: float


TARGETS: Sequence[Target] = (
    Target(Case(Extender.BERTH_ONLYONE), Case(Extender.NONE), 1_000, 0.8),
    Target(Case(Extender.BERTH_ONLYONE), Case(Extender.NONE), 5_000, 1.0),
    Target(Case(Extender.BERTH), Case(Extender.NULL), 1_000, 0.75),
    Target(Case(Extender.BERTH), Case(Extender.NULL), 5_000, 0.75),
    Target(Case(Extender.BERTH), Case(Extender.GO_FULL), 5_000, 25),
)


def target(case: Case, to: Case | None, nodes: int) -> float | None:
    """The least ratio of the two; None where there is none."""
    wanted = (each.least for each in TARGETS if (each.case, each.to, each.nodes) == (case, to, nodes))
    return next(wanted, None)


def baseline(case: Case) -> Case | None:
    """The case with an extender that answers in the same form and does not look."""
    extender = BASELINES.get(case.extender)
    wanted = None if extender is None else replace(case, extender=extender)
    return wanted if wanted in CASES else None


def beside_none(case: Case) -> Case:
    """The case without an extender: with as many events and the same pods."""
    wanted = Case(Extender.NONE, pods=case.pods, events=case.events)
    return wanted if wanted in CASES else Case(Extender.NONE)


def peer(case: Case) -> Case | None:
    """The case with the extender in full mode; Berth's plain one has it."""
    return Case(Extender.GO_FULL) if case == Case(Extender.BERTH) else None


def with_one_scheduler(case: Case) -> Case | None:
    """The same for one scheduler, of a case with several."""
    return replace(case, schedulers=1) if case.schedulers > 1 else None


def selected(patterns: Sequence[str]) -> list[Case]:
    """The cases with these names, which may have * and ?. Raises ValueError where a pattern has no case."""
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in CASES):
            raise ValueError(f"no case is named {pattern}; there are: {' '.join(case.name for case in CASES)}")
    return [case for case in CASES if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
