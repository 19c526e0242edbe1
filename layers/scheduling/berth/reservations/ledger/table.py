"""Calls of the ledger's table as long as there is time before a deadline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from berth.dynamodb_errors import TableUnavailable
from berth.extender.ports import Remaining
from berth.reservations.ledger.entry import NodeLedger, OpenReservation
from berth.reservations.ledger.node_write import NodeWrite

__all__ = ["LedgerTable", "Marker", "MarkerState", "NotWritten", "TableUnavailable", "Written"]


@dataclass(frozen=True, slots=True)
class Written:
    """The ledger as this very write left it (ALL_NEW): a committed version."""

    ledger: NodeLedger


@dataclass(frozen=True, slots=True)
class NotWritten:
    """A condition did not hold on this ledger (ALL_OLD); None where the node has no item."""

    ledger: NodeLedger | None


class MarkerState(StrEnum):
    """REBUILDING: the items are not to be trusted before the watcher has made them anew."""

    READY = "ready"
    REBUILDING = "rebuilding"


@dataclass(frozen=True, slots=True)
class Marker:
    """What the table says of itself; none at all: it is new, or lost. since: seconds since the epoch. nonce: another
    for each write, so that a marker that was written in between is noticed."""

    state: MarkerState
    epoch: int
    since: float
    nonce: str


class LedgerTable(ABC):
    """What bind, the watcher and the operator's commands need of the store."""

    # ------------------------------------------------------------------------------------------------------ node items

    @abstractmethod
    def node(self, name: str) -> NodeLedger | None:
        """A node's ledger as of now (a consistent read); None where there is no item."""

    @abstractmethod
    def nodes(self) -> Sequence[NodeLedger]:
        """The ledgers of all nodes, by name. It scans the whole table: for an operator, not for a function."""

    @abstractmethod
    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        """One conditional update of the node's item."""

    @abstractmethod
    def create(self, ledger: NodeLedger, *, over_blank: bool = False) -> Written | NotWritten:
        """Put the whole item where the node has none. over_blank: or one that is blank and of no later epoch."""

    @abstractmethod
    def blank(self, node: str, epoch: int) -> Written | NotWritten:
        """Take `avail` from the item if it is of no later epoch: nothing can be reserved there until it is created."""

    @abstractmethod
    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        """Delete the item if it has no entries and is of no later epoch. Written has the ledger that was deleted.

        NotWritten(None): there is none, so nothing is left to do.
        """

    # ----------------------------------------------------------------------------------------------- open reservations

    @abstractmethod
    def put_open(self, reservation: OpenReservation) -> None:
        """Put it. Each attempt has one of its own: what stands there can only be the same."""

    @abstractmethod
    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        """Delete that of this attempt, if it is still there. Another attempt's stays: it may trace an entry."""

    @abstractmethod
    def open_reservations(self) -> Sequence[OpenReservation]:
        """All of them, as of now (one consistent query, all its pages). A pod may have several on a node, one for each
        attempt; the entry, of which there is one, names the attempt that owns it."""

    @abstractmethod
    def request_release(self, reservation: OpenReservation) -> None:
        """Mark the open reservation of this attempt for release; where there is none, put this one, marked."""

    # ---------------------------------------------------------------------------------------------------------- marker

    @abstractmethod
    def marker(self) -> Marker | None:
        """As of now (a consistent read)."""

    @abstractmethod
    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        """Put it in the place of the one that was seen. False: another stands there by now.

        `seen` is compared by its nonce. Where this very marker stands already, an earlier try has succeeded.
        """


T = TypeVar("T")


class DeadlineExceeded(Exception):
    """There is no time left for another call."""


@dataclass(slots=True)
class TableCalls:
    """seconds: the longest that one call takes; none begins with less time left.

    repeated: one went unanswered, and may be carried out yet.
    """

    remaining: Remaining
    seconds: float
    repeated: bool = False

    def with_retry(self, call: Callable[[], T]) -> T:
        """Make the call, and again if it goes unanswered: a socket may have died while the environment was frozen.

        For operations that may be repeated. Raises DeadlineExceeded and TableUnavailable.
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
            raise DeadlineExceeded
