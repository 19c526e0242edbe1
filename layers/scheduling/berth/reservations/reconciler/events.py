"""What becomes of reservations in the watcher's hands, by name: for logs, metrics and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

_NONE: Mapping[str, int] = MappingProxyType({})


class ReservationEvent(StrEnum):
    """CONFIRMED: the reserved pod is on the node. CORRECTED: it holds something else than was written down. ADOPTED:
    somebody else brought a pod there. RELEASED: the pod has ended, or is elsewhere. EXPIRED: its bind never completed.
    POSTPONED: a reservation is old, and yet not to be given back (detail says why). RESIZED: the node's capacity.
    OWED: more is held than the node has. REBUILT: the node's ledger was made anew, from the pods that are there.
    READY: all of them were. OUTRANKED: a later watcher has written, this one does nothing any more."""

    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    ADOPTED = "adopted"
    RELEASED = "released"
    EXPIRED = "expired"
    POSTPONED = "postponed"
    CREATED = "created"
    DELETED = "deleted"
    RESIZED = "resized"
    OWED = "owed"
    REBUILDING = "rebuilding"
    REBUILT = "rebuilt"
    READY = "ready"
    OUTRANKED = "outranked"
    TABLE_UNAVAILABLE = "failure-table-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"


WORTH_A_LOOK = frozenset(
    {
        ReservationEvent.EXPIRED,
        ReservationEvent.OWED,
        ReservationEvent.REBUILDING,
        ReservationEvent.READY,
        ReservationEvent.OUTRANKED,
    }
    | {each for each in ReservationEvent if each.startswith("failure-")}
)
"""What an operator may want to know of; the rest is every day's."""


@dataclass(frozen=True, slots=True)
class Event:
    """One of them. pod: `namespace/name`. amounts: by pool; of OWED, what is held beyond the capacity."""

    happening: ReservationEvent
    node: str = ""
    pod: str = ""
    amounts: Mapping[str, int] = field(default_factory=lambda: _NONE)
    detail: str = ""

    def __str__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        amounts = ", ".join(f"{pool} {amount}" for pool, amount in sorted(self.amounts.items()))
        told = [part for part in (f"{self.happening}{where}", self.pod, amounts, self.detail) if part]
        return ": ".join(told)


Report = Callable[[Event], None]
"""Told of each, as it happens; raises nothing."""
