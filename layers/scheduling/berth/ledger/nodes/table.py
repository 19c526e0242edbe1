"""The port of the ledger's table, for bind, the watcher and `berth reservations`.

Guarantees: every read is consistent. Every write is one conditional or idempotent operation, so a caller may repeat it
after a lost answer. `write_together` writes several items or none; every other write changes one item.

A ledger's owner is a node or a floating pool.

Every method may raise TableUnavailable. `TableCalls` of bind repeats a failed call once, if there is time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from berth.ledger.nodes.entry import NodeLedger, OpenReservation

if TYPE_CHECKING:
    from berth.ledger.nodes.node_write import NodeWrite


@dataclass(frozen=True, slots=True)
class Written:
    """The ledger as this write left it (ALL_NEW): a committed version."""

    ledger: NodeLedger


@dataclass(frozen=True, slots=True)
class NotWritten:
    """The ledger that did not meet the condition (ALL_OLD). None: the node does not have an item. If a transaction
    blocked a `write`, this is the ledger as read afterwards; it may meet the condition."""

    ledger: NodeLedger | None


class MarkerState(StrEnum):
    """The state of the table. REBUILDING: the items are not reliable until the watcher has rebuilt all of them."""

    READY = "ready"
    REBUILDING = "rebuilding"


@dataclass(frozen=True, slots=True)
class Marker:
    """The state of the whole table. A table without a marker is new, or its content was lost. since: seconds since the
    epoch. nonce: different for each write, so that a concurrent write is detected."""

    state: MarkerState
    epoch: int
    since: float
    nonce: str


class LedgerTable(ABC):
    """The store of node ledgers, open reservations and the marker."""

    # ------------------------------------------------------------------------------------------------------ node items

    @abstractmethod
    def node(self, name: str) -> NodeLedger | None:
        """Return a node's ledger, with a consistent read. None: there is no item."""

    @abstractmethod
    def nodes(self) -> Sequence[NodeLedger]:
        """Return all ledgers, ordered by owner, with a scan of the whole table. Only operator commands call it."""

    @abstractmethod
    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        """Make one conditional update of the node's item."""

    @abstractmethod
    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        """Make these updates, by owner, and put the open reservation: all or none. Return None if they are written,
        otherwise the owners whose conditions failed. An empty tuple: other writes on these items were under way."""

    @abstractmethod
    def create(self, ledger: NodeLedger) -> Written | NotWritten:
        """Put the whole item if the node does not have one."""

    @abstractmethod
    def begin_rebuild(self, node: str, epoch: int) -> Written | NotWritten:
        """Remove `avail` from the item, unless its epoch is later: nothing can be reserved until finish_rebuild."""

    @abstractmethod
    def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
        """Put the whole item if it is missing, or if the existing item is being rebuilt and its epoch is not later."""

    @abstractmethod
    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        """Delete the item if it does not have entries and its epoch is not later. Written: the ledger that was deleted.
        NotWritten(None): there is no item."""

    # ----------------------------------------------------------------------------------------------- open reservations

    @abstractmethod
    def put_open(self, reservation: OpenReservation) -> None:
        """Put the reservation. Each attempt has its own item, so an existing item can only be this reservation."""

    @abstractmethod
    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        """Delete the open reservation of this attempt if it exists. Open reservations of other attempts stay."""

    @abstractmethod
    def open_reservations(self) -> Sequence[OpenReservation]:
        """Return all open reservations, with one consistent query and all its pages. A pod may have several on a node,
        one for each attempt. The pod's only entry on the node names the attempt that owns the entry."""

    # ---------------------------------------------------------------------------------------------------------- marker

    @abstractmethod
    def marker(self) -> Marker | None:
        """Return the marker, with a consistent read."""

    def marker_eventually(self) -> Marker | None:
        """Return the marker for half a read unit, if the store can do so. It may be older than an earlier result."""
        return self.marker()

    @abstractmethod
    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        """Replace the marker if it still has the nonce that was seen; otherwise return False. Return True also if the
        table already has this marker: an earlier try succeeded."""
