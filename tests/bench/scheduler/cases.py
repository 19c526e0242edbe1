"""The cases of the table: an extender, and how many schedulers call it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Extender(StrEnum):
    """The extender that the scheduler calls.

    GO: the extender in tests/bench/peer. BERTH: `berth serve`. ONLYONE: filter passes one node; prioritize is unused.
    BIND: the extender binds all pods. COUNTED, RULES: bind is called for counted resources or because of a rule about
    other pods.
    """

    NONE = "none"
    GO = "go"
    GO_ONLYONE = "go-onlyone"
    GO_BIND = "go-bind"
    BERTH = "berth"
    BERTH_ONLYONE = "berth-onlyone"
    BERTH_BIND = "berth-bind"
    BERTH_FULL = "berth-full"
    BERTH_COUNTED = "berth-counted"
    BERTH_RULES = "berth-rules"

    @property
    def passes_one(self) -> bool:
        return self in (Extender.GO_ONLYONE, Extender.BERTH_ONLYONE)

    @property
    def is_go(self) -> bool:
        return self in (Extender.GO, Extender.GO_ONLYONE, Extender.GO_BIND)

    @property
    def has_conflicts(self) -> bool:
        """Return whether concurrent binds may conflict. If they may, several schedulers are measured, too."""
        return self in (Extender.BERTH_COUNTED, Extender.BERTH_RULES)

    @property
    def binds(self) -> bool:
        return self.has_conflicts or self in (Extender.GO_BIND, Extender.BERTH_BIND)


@dataclass(frozen=True, slots=True)
class Case:
    """A case. `schedulers`: the number of schedulers; each has its own pods."""

    extender: Extender
    schedulers: int = 1

    @property
    def scheduler_names(self) -> list[str]:
        return [f"bench-{number}" for number in range(self.schedulers)]

    @property
    def name(self) -> str:
        return f"{self.extender}.schedulers-{self.schedulers}" if self.extender.has_conflicts else self.extender


CASES: Sequence[Case] = (
    *(Case(extender) for extender in Extender if not extender.has_conflicts),
    *(Case(extender, number) for extender in Extender if extender.has_conflicts for number in (1, 8)),
)
SMALL = ("none", "go", "berth", "berth-onlyone")


def selected(patterns: Sequence[str]) -> list[Case]:
    """Return the cases whose names match patterns with * and ?. Raises ValueError if a pattern matches no case."""
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in CASES):
            raise ValueError(f"no case is named {pattern}; there are: {' '.join(case.name for case in CASES)}")
    return [case for case in CASES if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
