"""What the caller expects of a simulation, for its exit status: `--expect 'pending<=3'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

_OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_EXPECTATION = re.compile(r"(?P<figure>[a-z-]+)\s*(?P<operator><=|>=|=|<|>)\s*(?P<number>[0-9]{1,9})", re.ASCII)


class Figure(StrEnum):
    """What an expectation can be about. NEWLY_PENDING and MOVED need a change to compare with."""

    PLACED = "placed"
    PENDING = "pending"
    EVICTED = "evicted"
    NEWLY_PENDING = "newly-pending"
    MOVED = "moved"


NEED_A_CHANGE = frozenset({Figure.NEWLY_PENDING, Figure.MOVED})


class InvalidExpectation(ValueError):
    """The text is not an expectation. The message names the reason."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A figure and its limit."""

    figure: Figure
    relation: str
    number: int

    def __str__(self) -> str:
        return f"{self.figure}{self.relation}{self.number}"

    def holds(self, figures: Mapping[Figure, int]) -> bool:
        """Whether these figures are as expected."""
        return _OPERATORS[self.relation](figures[self.figure], self.number)


def read_expectation(text: str) -> Expectation:
    """Raises InvalidExpectation."""
    found = _EXPECTATION.fullmatch(text.strip())
    if found is None or found["figure"] not in list(Figure):
        raise InvalidExpectation(
            f"--expect {text}: give FIGURE, one of = < > <= >=, and a number, such as 'pending<=3'; "
            f"FIGURE is one of {', '.join(Figure)}"
        )
    return Expectation(Figure(found["figure"]), found["operator"], int(found["number"]))
