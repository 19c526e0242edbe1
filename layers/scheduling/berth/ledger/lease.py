"""The port to the Lease of the ledger: one object in the cluster, which names the store that counts its resources.

It is a separate object, because each change of the object `berth-wake` wakes the scheduler's queue (fact 43).

A store is a ledger's table. All watchers and binds of one store share its identity, so they are one holder.

Takeover, in this order:

1. A watcher of another store sees the Lease unchanged for its whole duration, or released, and acquires it with one
   conditional write. The Lease's number of transitions grows by one.
2. It requests a rebuild of its own ledger. The rebuild ends every Binding that was sent before (see
   upkeep/reconciler/rebuild).
3. It marks the Lease as counting in this transition. Its binds reserve only after that.

Guarantee: a bind reads the Lease after it has read its pod (see bind/rules). So either the rebuild of the next holder
counts the pod, or the pod's resourceVersion has changed and the Binding fails. This does not depend on clocks, even if
a holder was paused at any point.

Not guaranteed: that the Lease stays. A person who deletes or edits it can let two stores count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from berth.dynamodb import TableAdapter, TableUnavailable
from berth.lease.config import LeaderElectionConfig
from berth.lease.lock import Conflict, Lease, LeaseLock, Unavailable, Written

if TYPE_CHECKING:
    from berth.dynamodb import Attributes

KEY: Attributes = {"pk": {"S": "ledger"}, "sk": {"S": "identity"}}


class StoreIdentity(ABC):
    """Reads and writes the identity of a store, in the store's table. Every method may raise TableUnavailable."""

    @abstractmethod
    def get(self) -> str | None:
        """Return the identity, with a consistent read. None: the table is new, or has lost the identity."""

    @abstractmethod
    def put_if_absent(self, identity: str) -> bool:
        """Write the identity. Return False if the table has one already."""


class DynamoDBStoreIdentity(TableAdapter, StoreIdentity):
    """The identity in the ledger's table."""

    def get(self) -> str | None:
        item = self._item(KEY)
        if item is None:
            return None
        identity = item.get("identity", {}).get("S")
        if not identity:
            raise TableUnavailable(f"ledger table {self._table}: its item identity is malformed; delete it")
        return identity

    def put_if_absent(self, identity: str) -> bool:
        item = KEY | {"identity": {"S": identity}}
        return self._is_written(self._client.put_item, Item=item, ConditionExpression="attribute_not_exists(pk)")


NAMESPACE = "kube-system"
NAME = "berth-ledger"

CALL_SECONDS = 2.0
"""The timeout of each call of a watcher, in seconds."""

ELECTION = LeaderElectionConfig(lease_duration=30, renew_deadline=20, retry_period=5)
"""The times in seconds. Another store waits 30 s by its own clock. The holder renews every 5 s, and stops after four
failed renewals in a row. Then 10 s are left for two calls to end, before another store can acquire the Lease."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The Lease's holder. holder: the identity of a store; empty if no store counts. is_counting: whether the holder
    has finished its takeover."""

    holder: str
    is_counting: bool


class LedgerLease(LeaseLock):
    """The Lease. Every read is consistent; every write has the resourceVersion and the UID as preconditions."""

    @abstractmethod
    def holding(self, timeout: float) -> Holding | Unavailable | None:
        """Read the Lease once, for a bind. timeout: in seconds. None: there is no Lease."""

    @abstractmethod
    def mark_counting(self, seen: Lease) -> Written | Conflict | Unavailable:
        """Record that the holder has finished its takeover in the transition of `seen`."""


def counted_elsewhere(holder: str) -> str:
    """Return the text of `Error` for verbs whose store does not count this cluster's resources. The text changes only
    with the holder (fact 17)."""
    return (
        f"the resources of this cluster are counted by {holder}: one cluster has one ledger; stop that server, or let "
        f"both use the same tables (see the Lease {NAMESPACE}/{NAME})"
    )
