"""How long gangs take on a real scheduler, and how long they may take.

`make e2e TARGETS=1` fails beyond a target. Elsewhere the figures are shown only: other work on the
machine slows them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

GANG_SECONDS = {4: 0.5, 32: 3.0}
"""By the number of members: from the creation of the last one until all are bound."""
BACK_OFF_SECONDS = 2.0
"""More, if a rejected pod waits for the end of its back-off: that takes 1 s, and kube-scheduler looks once a second."""
MISSING_NODE_SECONDS = 5.0


OTHER_PODS_PERCENT = 50.0
"""Of their speed without gangs, while a gang waits."""

ARE_HELD = os.environ.get("GANG_TARGETS") == "1"


@dataclass(frozen=True)
class Figure:
    what: str
    measured: str
    target: str
    is_met: bool


@dataclass
class Figures:
    _found: list[Figure] = field(default_factory=list)

    def at_most(self, what: str, seconds: float, most: float) -> None:
        """Raises AssertionError beyond it, where targets are held."""
        self._add(Figure(what, f"{seconds:.1f} s", f"<= {most:g} s", seconds <= most))

    def at_least(self, what: str, percent: float, least: float) -> None:
        """Raises AssertionError below it, where targets are held."""
        self._add(Figure(what, f"{percent:.0f} %", f">= {least:.0f} %", percent >= least))

    def _add(self, figure: Figure) -> None:
        self._found.append(figure)
        assert figure.is_met or not ARE_HELD, f"{figure.what}: {figure.measured}, target {figure.target}"

    def lines(self) -> Iterator[str]:
        """The table; none without a figure."""
        if not self._found:
            return
        width = max(len(each.what) for each in self._found)
        for each in self._found:
            yield f"{each.what:<{width}}  {each.measured:>7}  {each.target:>7}{'' if each.is_met else '  MISSED'}"
        yield f"{sum(each.is_met for each in self._found)} of {len(self._found)} targets met"
