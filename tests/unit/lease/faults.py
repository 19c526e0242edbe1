"""Faults of a call to the store; planned by a test, carried out by the store."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Fault(StrEnum):
    LOST = "committed, response lost"
    DELAYED = "no response, committed later"
    UNREACHABLE = "never sent"
    THROTTLED = "ProvisionedThroughputExceededException"
    TRANSACTION_CONFLICT = "TransactionConflictException"
    REFUSED = "AccessDeniedException"


ERROR_CODES = {Fault.THROTTLED, Fault.TRANSACTION_CONFLICT, Fault.REFUSED}


class Faults:
    """The faults of one lock's calls, in order. After them every call succeeds, or has the fault `always` if set."""

    def __init__(self) -> None:
        self._planned: list[Fault | None] = []
        self._held_back: list[Callable[[], object]] = []
        self.always: Fault | None = None

    def plan(self, *faults: Fault | None) -> None:
        """Plan the outcomes of the next calls, one for each call. None: the call succeeds."""
        self._planned += faults

    def forget(self) -> None:
        """Drop the planned faults of calls that were not made."""
        self._planned.clear()

    def take(self) -> Fault | None:
        """Return the fault of the call that is being made."""
        return self._planned.pop(0) if self._planned else self.always

    def hold_back(self, write: Callable[[], object]) -> None:
        """Keep a write whose sender no longer waits for the response."""
        self._held_back.append(write)

    def deliver(self) -> None:
        """Let the writes that were held back arrive now."""
        while self._held_back:
            self._held_back.pop(0)()
