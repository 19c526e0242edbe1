"""Reads a stack in its AWS account, read-only and with the caller's permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from berth.authentication.allow_list import AllowList
from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
from berth.authentication.outcomes import Authentication, CredentialStoreUnavailable
from berth.dynamodb import HEAD_KEY, cache_table_errors
from berth.lease.dynamodb_lock import read_item
from berth.lease.lock import Lease, MalformedLease
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.nodecache.feed.dynamodb_head import MalformedHead, read_head
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.table import TableUnavailable
from berth.scheduling.managed_resources.pools import is_floating
from berth_cli.sources.stack import CACHE_TABLE_NAME, CLIENT_CONFIG, LEDGER_TABLE_NAME, DeployedStack, StackUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

SCHEDULE = "AWS::Scheduler::Schedule"
_DENIED_CODES = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "InvalidAction",
    "UnknownOperationException",
)


class AccountUnavailable(Exception):
    """The lookup failed. The message states the cause."""


class InspectionDenied(AccountUnavailable):
    """The caller lacks the permission, or the account lacks the service; the stack may be correct. remedy: names the
    permission.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


def is_inspection_denied(error: BaseException | None) -> bool:
    """Return whether the error concerns the caller's permissions or the account's services, rather than the object."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "")) in _DENIED_CODES
    return isinstance(error, BotoCoreError)


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


class AWSAccount:
    """Reads a stack in its account. Every method may raise AccountUnavailable and StackUnavailable."""

    def __init__(self, stack: DeployedStack) -> None:
        self._stack = stack

    def head(self) -> HeadItem | None:
        """Read the cache table's head item with a strongly consistent read; None if it does not exist."""
        table = self._stack.output(CACHE_TABLE_NAME)
        try:
            with cache_table_errors(table).errors():
                item = self._dynamodb().get_item(TableName=table, Key=HEAD_KEY, ConsistentRead=True).get("Item")
            if item is None:
                return None
            head = read_head(item)
            if head.unreadable_reason:
                raise AccountUnavailable(head.unreadable_reason)
            return HeadItem(read_item(item), head)
        except (TableUnavailable, MalformedLease) as error:
            raise AccountUnavailable(str(error)) from error
        except MalformedHead as error:
            raise AccountUnavailable(f"node cache table {table}: the head item cannot be read: {error}") from error

    def ledger_epoch(self) -> int | None:
        """Return the epoch in the ledger's marker, which the latest leader wrote; None if there is no marker."""
        with self._ledger() as ledger:
            marker = ledger.marker()
        return None if marker is None else marker.epoch

    def owed(self) -> Mapping[str, int]:
        """Return the amounts that pods hold beyond the capacity, by floating pool. Scans the ledger."""
        with self._ledger() as ledger:
            floating = [each for each in ledger.nodes() if is_floating(each.owner)]
        return {pool: amount for each in floating for pool, amount in each.owed.items()}

    @contextmanager
    def _ledger(self) -> Iterator[DynamoDBLedgerTable]:
        try:
            yield DynamoDBLedgerTable(self._dynamodb(), self._stack.output(LEDGER_TABLE_NAME))
        except TableUnavailable as error:
            raise AccountUnavailable(str(error)) from error

    def allow_list(self) -> AllowList | None:
        """Read the allow-list as the authorizer does; None if the stack does not use one."""
        if self._stack.parameters.get("Authentication") != Authentication.MTLS:
            return None
        table = self._stack.output(CACHE_TABLE_NAME)
        try:
            return DynamoDBAllowList(self._dynamodb(), table).read()
        except CredentialStoreUnavailable as error:
            unreadable = error.__cause__
            if unreadable is not None and is_inspection_denied(unreadable.__cause__):
                raise InspectionDenied(str(error), f"needs dynamodb:GetItem on {table}") from error
            raise AccountUnavailable(str(error)) from error

    def _dynamodb(self) -> DynamoDBClient:
        client: DynamoDBClient = boto3.client("dynamodb", region_name=self._stack.region, config=CLIENT_CONFIG)
        return client

    def schedules(self) -> list[Schedule]:
        """Return the schedules of the stack."""
        with _account_errors("the schedule", "scheduler:GetSchedule and cloudformation:ListStackResources"):
            client = boto3.client("scheduler", region_name=self._stack.region, config=CLIENT_CONFIG)
            names = self._stack.resources.get(SCHEDULE, {}).values()
            found = [client.get_schedule(Name=name) for name in names]
        return [Schedule(each["Name"], each["State"], each["ScheduleExpression"]) for each in found]

    def concurrent_executions(self) -> int:
        """Return the limit of bind's concurrent executions: the number that the stack reserves, or the account's."""
        reserved = int(self._stack.parameters.get("ReservedConcurrency", "0"))
        if reserved:
            return reserved
        with _account_errors("the account's limits", "lambda:GetAccountSettings"):
            client = boto3.client("lambda", region_name=self._stack.region, config=CLIENT_CONFIG)
            return int(client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"])


@contextmanager
def _account_errors(subject: str, permissions: str) -> Iterator[None]:
    """Translate AWS errors within the block."""
    try:
        yield
    except StackUnavailable as error:
        raise InspectionDenied(str(error), "needs cloudformation:ListStackResources") from error
    except (ClientError, BotoCoreError) as error:
        message = f"{subject} cannot be read: {error}"
        if isinstance(error, ClientError) and is_inspection_denied(error):
            raise InspectionDenied(message, f"needs {permissions}") from error
        raise AccountUnavailable(message) from error
