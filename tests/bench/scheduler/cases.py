"""The cases of the table: an extender, and how many schedulers call it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase


class Extender(StrEnum):
    """What the scheduler calls.

    NULL: answers as BERTH does, without looking, with the HTTP server of `berth serve`. The rest is `berth serve`.
    ONLYONE: filter passes one node, and prioritize is not called. COUNTED, RULES: bind is called for counted resources
    and under a rule about other pods.
    """

    NONE = "none"
    NULL = "null"
    NULL_ONLYONE = "null-onlyone"
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


@dataclass(frozen=True, slots=True)
class Case:
    """`schedulers`: each has pods of its own."""

    extender: Extender
    schedulers: int = 1

    @property
    def scheduler_names(self) -> list[str]:
        return [f"bench-{number}" for number in range(self.schedulers)]

    @property
    def name(self) -> str:
        """The same over releases."""
        return f"{self.extender}.schedulers-{self.schedulers}" if self.extender.binds else self.extender


CASES: Sequence[Case] = (
    *(Case(extender) for extender in Extender if not extender.binds),
    *(Case(extender, number) for extender in Extender if extender.binds for number in (1, 8)),
)
SMALL = ("none", "null", "berth", "berth-onlyone")


def selected(patterns: Sequence[str]) -> list[Case]:
    """Return the cases with these names, which may have * and ?. Raises ValueError if a pattern has no case."""
    for pattern in patterns:
        if not any(fnmatchcase(case.name, pattern) for case in CASES):
            raise ValueError(f"no case is named {pattern}; there are: {' '.join(case.name for case in CASES)}")
    return [case for case in CASES if any(fnmatchcase(case.name, pattern) for pattern in patterns)]
