"""Events of the reconciler: one for each change of the ledger, for logs, metrics and tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ReservationEventType(StrEnum):
    """The type of a change. The values are stored as a metric dimension.

    CONFIRMED: the reserved pod is on the node. CORRECTED: the share of a bound pod changed with capacity or
    configuration. DIVERGED: annotations of a bound pod claim other amounts or devices than its entry, which stays.
    ADOPTED: another scheduler bound the pod, or the pod was there before the ledger. BEYOND_LIMIT: another scheduler's
    pod requests more than a pod can have there, or an unreadable amount, and is charged less. RELEASED: the pod has
    ended, or is on another node. EXPIRED: its bind never completed. POSTPONED: a reservation is old, but cannot be
    released yet; `detail` has the reason. CREATED, DELETED: the ledger of a node. RESIZED: the node's capacity changed.
    OWED: the entries of a node exceed its capacity. REBUILDING: a rebuild of all ledgers begins. REBUILT: the ledger of
    one node was rebuilt from the pods there. READY: all ledgers were rebuilt. OUTRANKED: the ledger has a later epoch,
    so this watcher resigns. COUNTED_ELSEWHERE: another store counts the cluster's resources, so this store's binds
    fail.
    """

    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    DIVERGED = "diverged"
    ADOPTED = "adopted"
    BEYOND_LIMIT = "beyond-limit"
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
    COUNTED_ELSEWHERE = "counted-elsewhere"
    TABLE_UNAVAILABLE = "failure-table-unavailable"
    CLUSTER_UNAVAILABLE = "failure-cluster-unavailable"


WARNING_EVENTS = frozenset(
    {
        ReservationEventType.EXPIRED,
        ReservationEventType.OWED,
        ReservationEventType.DIVERGED,
        ReservationEventType.BEYOND_LIMIT,
        ReservationEventType.REBUILDING,
        ReservationEventType.READY,
        ReservationEventType.OUTRANKED,
        ReservationEventType.COUNTED_ELSEWHERE,
        *(each for each in ReservationEventType if each.startswith("failure-")),
    }
)
"""Events that are logged as warnings, for an operator. The others are routine."""


@dataclass(frozen=True, slots=True)
class ReservationEvent:
    """A change of the ledger. pod: `namespace/name`. uid: of the pod; set for DIVERGED and BEYOND_LIMIT. amounts: by
    pool; for OWED, the amounts above the capacity."""

    type: ReservationEventType
    node: str = ""
    pod: str = ""
    amounts: Mapping[str, int] = field(default_factory=dict)
    detail: str = ""
    uid: str = ""

    def __str__(self) -> str:
        where = f" on {self.node}" if self.node else ""
        amounts = ", ".join(f"{pool} {amount}" for pool, amount in sorted(self.amounts.items()))
        parts = [part for part in (f"{self.type}{where}", self.pod, amounts, self.detail) if part]
        return ": ".join(parts)


Report = Callable[[ReservationEvent], None]
"""Called with each event as it happens; does not raise."""
