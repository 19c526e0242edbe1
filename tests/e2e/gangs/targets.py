"""The time that gangs take on a real scheduler, with targets.

`make e2e TARGETS=1` fails if a target is missed. Otherwise the figures are only printed, because other work on
the machine makes them worse.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

GANG_SECONDS = {4: 0.5, 32: 3.0}
"""Seconds by the number of members: from the creation of the last member until all are bound."""
BACK_OFF_SECONDS = 2.0
"""Additional seconds if a rejected pod waits for its back-off of 1 s, which kube-scheduler checks once a second."""
MISSING_NODE_SECONDS = 5.0


OTHER_PODS_PERCENT = 50.0
"""The minimum speed of other pods while a gang waits, in percent of their speed without gangs."""

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
        """Record a figure. Raises AssertionError above the target if targets are enforced."""
        self._add(Figure(what, f"{seconds:.1f} s", f"<= {most:g} s", seconds <= most))

    def at_least(self, what: str, percent: float, least: float) -> None:
        """Record a figure. Raises AssertionError below the target if targets are enforced."""
        self._add(Figure(what, f"{percent:.0f} %", f">= {least:.0f} %", percent >= least))

    def _add(self, figure: Figure) -> None:
        self._found.append(figure)
        assert figure.is_met or not ARE_HELD, f"{figure.what}: {figure.measured}, target {figure.target}"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the table; none if there are no figures."""
        if not self._found:
            return
        width = max(len(each.what) for each in self._found)
        for each in self._found:
            yield f"{each.what:<{width}}  {each.measured:>7}  {each.target:>7}{'' if each.is_met else '  MISSED'}"
        yield f"{sum(each.is_met for each in self._found)} of {len(self._found)} targets met"
