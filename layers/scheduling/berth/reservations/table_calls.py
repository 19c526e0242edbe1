"""Calls of the ledger's table as long as there is time before a deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from berth.extender.ports import Remaining
from berth.reservations.table import TableUnavailable

T = TypeVar("T")


class TooLate(Exception):
    """There is no time left for another call."""


@dataclass(slots=True)
class TableCalls:
    """seconds: the longest that one call takes; none begins with less time left.

    repeated: one went unanswered, and may be carried out yet.
    """

    remaining: Remaining
    seconds: float
    repeated: bool = False

    def twice(self, call: Callable[[], T]) -> T:
        """Make the call, and again if it goes unanswered: a socket may have died while the environment was frozen.

        For operations that may be repeated. Raises TooLate and TableUnavailable.
        """
        self._check()
        try:
            return call()
        except TableUnavailable:
            self.repeated = True
            self._check()
            return call()

    def _check(self) -> None:
        if self.remaining() < self.seconds:
            raise TooLate
