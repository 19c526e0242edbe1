"""The port to the item that the lease is kept in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from berth.lease.record import Lease, LeaseSpec


@dataclass(frozen=True, slots=True)
class Written:
    """The write is the item's latest, as `lease`."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: the item is not what the caller saw, but `current` (None: there is no item)."""

    current: Lease | None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No answer, or one that says nothing about the item; `reason` names cause and remedy.

    A write may have been committed, or may be later: `get` shows it.
    """

    reason: str


class LeaseLock(ABC):
    """One item. Of writers that saw the same version, one wins. The attributes of others stay as they are.

    There is no delete: the epoch must not start anew. Methods block for as long as the client's timeouts allow, raise
    nothing that a store answers, and may be called by several threads.
    """

    @abstractmethod
    def get(self) -> Lease | Unavailable | None:
        """The lease as of now: a consistent read, one read unit. None: there is no item."""

    @abstractmethod
    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        """Make the item, at version 1 and with a new uid, if there is none. One conditional write."""

    @abstractmethod
    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        """Write `spec` if the item still has the uid and the version of `seen`. One conditional write.

        Costs a write unit per KB of the whole item, whatever of it changes, and also when the condition fails.
        """
