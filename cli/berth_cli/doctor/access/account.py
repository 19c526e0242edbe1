"""The AWS account as a port: the stack's cache table, schedule, functions and roles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from berth.lease.record import Lease
from berth.nodecache.feed.head import Head


class AccountUnavailable(Exception):
    """The lookup failed. The message names the cause and, if known, the remedy."""


class InspectionDenied(AccountUnavailable):
    """The caller lacks the permission, or the account lacks the service. It says nothing about the stack."""


@dataclass(frozen=True, slots=True)
class HeadItem:
    """The head item of the cache table, as of one read."""

    lease: Lease
    head: Head


@dataclass(frozen=True, slots=True)
class Schedule:
    """The EventBridge schedule that starts the watcher."""

    name: str
    state: str
    expression: str


@dataclass(frozen=True, slots=True)
class FunctionState:
    """`state` and `update` as Lambda reports them; `reserved`: reserved concurrency, None if not set."""

    logical_id: str
    state: str
    update: str
    reserved: int | None


@dataclass(frozen=True, slots=True)
class Action:
    """An IAM action that a role needs. `partition`: the partition key of the item."""

    name: str
    resource: str
    partition: str


class Account(ABC):
    """Read only. Every method may raise AccountUnavailable."""

    @abstractmethod
    def head(self) -> HeadItem | None:
        """Read the cache table's head item consistently; None if it does not exist."""

    @abstractmethod
    def ledger_epoch(self) -> int | None:
        """The epoch in the ledger's marker: the latest leadership's that wrote there. None without a marker."""

    @abstractmethod
    def schedules(self) -> list[Schedule]:
        """The schedules of the stack."""

    @abstractmethod
    def functions(self) -> list[FunctionState]:
        """The functions of the stack."""

    @abstractmethod
    def concurrent_executions(self) -> int:
        """How many executions of all functions the account allows at once, in this region."""

    @abstractmethod
    def denied(self, function: str, actions: Sequence[Action]) -> list[Action]:
        """Simulate the actions with the role of a function (logical id); return the denied ones. Changes nothing."""

    @abstractmethod
    def table_arn(self) -> str:
        """ARN of the cache table."""
