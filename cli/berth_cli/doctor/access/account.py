"""The AWS account as a port: the stack's table, schedule, functions and roles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from berth.lease.record import Lease
from berth.nodecache.feed.head import Head


class AccountUnavailable(Exception):
    """The account did not say. The message names cause and, where there is one, remedy."""


class NotToldHere(AccountUnavailable):
    """Whoever asks may not know, or this account has no such service: nothing is wrong with the stack."""


@dataclass(frozen=True, slots=True)
class HeadItem:
    """The cache table's head, as one read found it."""

    lease: Lease
    head: Head


@dataclass(frozen=True, slots=True)
class Schedule:
    """What starts the watcher."""

    name: str
    state: str
    expression: str


@dataclass(frozen=True, slots=True)
class FunctionState:
    """`state` and `update` in Lambda's words; reserved: concurrency set aside for it, None where none is set."""

    logical_id: str
    state: str
    update: str
    reserved: int | None


@dataclass(frozen=True, slots=True)
class Action:
    """What a role must be allowed to do. partition: of a table's item."""

    name: str
    resource: str
    partition: str


class Account(ABC):
    """Read only. Every method may raise AccountUnavailable."""

    @abstractmethod
    def head(self) -> HeadItem | None:
        """A consistent read of the cache table; None where the item is not there."""

    @abstractmethod
    def schedules(self) -> list[Schedule]:
        """Those of the stack."""

    @abstractmethod
    def functions(self) -> list[FunctionState]:
        """Those of the stack."""

    @abstractmethod
    def denied(self, function: str, actions: Sequence[Action]) -> list[Action]:
        """What the role of a function, by its logical id, may not do: a simulation, nothing is done."""

    @abstractmethod
    def table_arn(self) -> str:
        """The cache table's."""
