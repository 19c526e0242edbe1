"""The port of the ledger's table: what bind, the watcher and `berth reservations` need of the store.

Guarantees: every read is consistent. Every write is one conditional or idempotent operation on one item, so a caller
may repeat it after a lost answer. Not guaranteed: transactions over several items.

Every method may raise TableUnavailable. `TableCalls` repeats a call while there is time before a deadline.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from berth.dynamodb import TableUnavailable
from berth.ledger.nodes.entry import NodeLedger, OpenReservation

if TYPE_CHECKING:
    from berth.ledger.nodes.node_write import NodeWrite

__all__ = ["LedgerTable", "Marker", "MarkerState", "NotWritten", "TableUnavailable", "Written"]


@dataclass(frozen=True, slots=True)
class Written:
    """The ledger as this write left it (ALL_NEW): a committed version."""

    ledger: NodeLedger


@dataclass(frozen=True, slots=True)
class NotWritten:
    """The condition was not met by this ledger (ALL_OLD). None: the node has no item.

    Of `write` it may also be the ledger as read after a transaction kept the write off: then it may meet the condition.
    """

    ledger: NodeLedger | None


class MarkerState(StrEnum):
    """REBUILDING: the items are not reliable until the watcher has rebuilt all of them."""

    READY = "ready"
    REBUILDING = "rebuilding"


@dataclass(frozen=True, slots=True)
class Marker:
    """The state of the whole table. A table without a marker is new, or its content was lost.

    since: seconds since the epoch. nonce: different for each write, so that a concurrent write is detected.
    """

    state: MarkerState
    epoch: int
    since: float
    nonce: str


class LedgerTable(ABC):
    """The store of node ledgers, open reservations and the marker."""

    # ------------------------------------------------------------------------------------------------------ node items

    @abstractmethod
    def node(self, name: str) -> NodeLedger | None:
        """A node's ledger, by a consistent read. None: there is no item."""

    @abstractmethod
    def nodes(self) -> Sequence[NodeLedger]:
        """All ledgers, ordered by node name. It scans the whole table: only for commands of an operator."""

    @abstractmethod
    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        """One conditional update of the node's item."""

    @abstractmethod
    def create(self, ledger: NodeLedger) -> Written | NotWritten:
        """Put the whole item if the node has none."""

    @abstractmethod
    def begin_rebuild(self, node: str, epoch: int) -> Written | NotWritten:
        """Remove `avail` from the item, unless its epoch is later: nothing can be reserved until finish_rebuild."""

    @abstractmethod
    def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
        """Put the whole item if the node has none, or one that is being rebuilt and whose epoch is not later."""

    @abstractmethod
    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        """Delete the item if it has no entries and its epoch is not later. Written: the ledger that was deleted.

        NotWritten(None): there is no item.
        """

    # ----------------------------------------------------------------------------------------------- open reservations

    @abstractmethod
    def put_open(self, reservation: OpenReservation) -> None:
        """Put it. Each attempt has its own item, so an existing item can only be the same."""

    @abstractmethod
    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        """Delete the open reservation of this attempt if it exists. Those of other attempts stay."""

    @abstractmethod
    def open_reservations(self) -> Sequence[OpenReservation]:
        """All of them, by one consistent query with all its pages.

        A pod may have several on a node, one for each attempt. Its one entry names the attempt that owns it.
        """

    @abstractmethod
    def request_release(self, reservation: OpenReservation) -> None:
        """Mark the open reservation of this attempt for release. If there is none, put this one with the mark."""

    # ---------------------------------------------------------------------------------------------------------- marker

    @abstractmethod
    def marker(self) -> Marker | None:
        """The marker, by a consistent read."""

    def marker_eventually(self) -> Marker | None:
        """The marker for half a read unit, where the store has such reads. It may be older than one read before."""
        return self.marker()

    @abstractmethod
    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        """Replace the marker that was seen, compared by its nonce. False: the table has another one by now.

        If the table has this marker already, an earlier try has succeeded.
        """
