"""Translates DynamoDB's errors for operators, and builds the expressions of an update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    Item = Mapping[str, AttributeValueTypeDef]
    Attributes = dict[str, UniversalAttributeValueTypeDef]

CONDITION_FAILED = "ConditionalCheckFailedException"
_TRANSACTION_CONFLICT = "TransactionConflictException"
_CANCELED = "TransactionCanceledException"
_NOT_WRITTEN = {"None", CONDITION_FAILED.removesuffix("Exception"), "TransactionConflict"}
"""Reasons of a canceled transaction after which the caller decides again. Other reasons are errors of the table."""
_THROTTLED = {"ProvisionedThroughputExceeded", "ThrottlingError"}
_TOO_LARGE = "Item size"
ITEM_FULL = "an item is full: it holds 400 KB, about 2,000 pods of one node or pool"


class TableUnavailable(Exception):
    """A request to the table failed, or an item is malformed. The message names the table and the reason."""


class TableThrottled(TableUnavailable):
    """The table throttled the request. A write has not happened."""


class ItemHeld(TableUnavailable):
    """A transaction in progress holds the item. A write has not happened, and the client does not retry it."""


class TableMissing(TableUnavailable):
    """The table does not exist."""


# Errors that are not listed keep DynamoDB's own message.
_CAUSES: Mapping[str, tuple[type[TableUnavailable], str]] = {
    "AccessDeniedException": (TableUnavailable, "the function's role lacks a permission on the table"),
    "ProvisionedThroughputExceededException": (TableThrottled, "the table is throttled"),
    "ThrottlingException": (TableThrottled, "the table is throttled"),
    "RequestLimitExceeded": (TableThrottled, "the account's throughput quota is exceeded"),
    _TRANSACTION_CONFLICT: (ItemHeld, "a transaction holds the item; try again"),
    "UnrecognizedClientException": (TableUnavailable, "the AWS credentials are not valid"),
    "ExpiredTokenException": (TableUnavailable, "the AWS credentials have expired"),
    "ResourceNotFoundException": (
        TableMissing,
        "the table does not exist; deploy the stack, or set {variable} to its table",
    ),
}


@dataclass(frozen=True, slots=True)
class TableErrors:
    """Translates a table's errors. variable: the environment variable with the table's name, for messages."""

    purpose: str
    table: str
    variable: str

    @contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise self.unavailable(error) from error

    def unavailable(self, error: ClientError | BotoCoreError) -> TableUnavailable:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        kind, cause = _CAUSES.get(code, (TableUnavailable, ""))
        cause = cause.format(variable=self.variable) or str(error)
        if _TOO_LARGE in cause:
            cause = ITEM_FULL
        return kind(f"{self.purpose} table {self.table}: {cause} ({code})")

    def is_written(self, write: Callable[[], object]) -> bool:
        """Make a conditional write. Return False if the condition was not met, or if a transaction holds the item; the
        caller then reads the item and decides again. Raises TableUnavailable."""
        try:
            write()
        except (ClientError, BotoCoreError) as error:
            with suppress(ItemHeld):
                self.refused(error)
            return False
        return True

    def transact(self, write: Callable[[], object]) -> list[bool] | None:
        """Execute a transaction. Return None if it is written; otherwise, for each action, whether its condition
        failed. If no condition failed, the transaction conflicted with other writes. Raises TableUnavailable."""
        try:
            write()
        except (ClientError, BotoCoreError) as error:
            response: Any = error.response if isinstance(error, ClientError) else {"Error": {"Code": ""}}
            reasons = response.get("CancellationReasons", [])
            codes = [reason.get("Code") or "None" for reason in reasons]
            if any(_TOO_LARGE in reason.get("Message", "") for reason in reasons):
                raise TableUnavailable(f"{self.purpose} table {self.table}: {ITEM_FULL} ({_CANCELED})") from error
            throttled = _THROTTLED.intersection(codes)
            if throttled:
                cause = f"the table is throttled ({_CANCELED}: {', '.join(sorted(throttled))})"
                raise TableThrottled(f"{self.purpose} table {self.table}: {cause}") from error
            if response["Error"]["Code"] != _CANCELED or not _NOT_WRITTEN.issuperset(codes):
                raise self.unavailable(error) from error
            return [code == "ConditionalCheckFailed" for code in codes]
        return None

    def refused(self, error: ClientError | BotoCoreError) -> Item | None:
        """Return the item that did not meet the condition (ALL_OLD); None if there is no item, or if the request did
        not ask for it. Raises TableUnavailable for any other error."""
        if not isinstance(error, ClientError) or error.response["Error"]["Code"] != CONDITION_FAILED:
            raise self.unavailable(error) from error
        found: Item | None = error.response.get("Item")  # type: ignore[assignment]
        return found or None


def cache_table_errors(table: str) -> TableErrors:
    """Return the TableErrors of the node cache's table, which also holds the applied configuration."""
    return TableErrors("node cache", table, "BERTH_CACHE_TABLE")


def ledger_table_errors(table: str) -> TableErrors:
    return TableErrors("ledger", table, "BERTH_LEDGER_TABLE")


class TableAdapter:
    """Base class of table adapters; a subclass is for the ledger's table unless it overrides `_errors_of`. Stateless;
    threads may share the client."""

    _errors_of = staticmethod(ledger_table_errors)

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = self._errors_of(table_name)

    def _item(self, key: Attributes, *, is_consistent: bool = True) -> Item | None:
        with self._errors.errors():
            return self._client.get_item(TableName=self._table, Key=key, ConsistentRead=is_consistent).get("Item")

    def _items(self, operation: Literal["query", "scan"], **request: Any) -> Iterator[Item]:
        """Yield the items of all pages, with consistent reads."""
        request |= {"TableName": self._table, "ConsistentRead": True}
        with self._errors.errors():
            for page in self._client.get_paginator(operation).paginate(**request):
                yield from page["Items"]

    @contextmanager
    def _well_formed(self, item: str, remedy: str = "") -> Iterator[None]:
        """Raise TableUnavailable if the block that reads an item raises KeyError or ValueError. item: a description of
        the item, for the message."""
        try:
            yield
        except (KeyError, ValueError) as error:
            where, cause = f"{self._errors.purpose} table {self._table}", f"{type(error).__name__}: {error}"
            raise TableUnavailable(f"{where}: {item} is malformed ({cause}){remedy}") from error

    def _is_written(self, write: Callable[..., object], **request: Any) -> bool:
        return self._errors.is_written(partial(write, TableName=self._table, **request))


class CacheTableAdapter(TableAdapter):
    _errors_of = staticmethod(cache_table_errors)


HEAD_KEY: Attributes = {"pk": {"S": "head"}, "sk": {"N": "0"}}


@dataclass(frozen=True, slots=True)
class Assignments:
    """A SET expression with placeholders for values, and for names, because DynamoDB reserves many words."""

    text: str
    names: dict[str, str]
    values: Attributes

    @classmethod
    def of(cls, attributes: Mapping[str, UniversalAttributeValueTypeDef]) -> Assignments:
        return cls(
            ", ".join(f"#{name} = :{name}" for name in attributes),
            {f"#{name}": name for name in attributes},
            {f":{name}": value for name, value in attributes.items()},
        )

    def action(self, table: str, key: Attributes) -> dict[str, dict[str, Any]]:
        """Return the update of the item as an action of a transaction. It needs the same permissions as outside of a
        transaction, even if IAM checks each action against the keys of all actions in the transaction."""
        return {
            "Update": {
                "TableName": table,
                "Key": key,
                "UpdateExpression": f"SET {self.text}",
                "ExpressionAttributeNames": self.names,
                "ExpressionAttributeValues": self.values,
            }
        }
