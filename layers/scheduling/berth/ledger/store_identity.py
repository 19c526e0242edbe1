"""The identity of a store: an item of the ledger's table, written once, that all of its watchers and binds read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from berth.dynamodb_errors import TableUnavailable, ledger_table_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "ledger"}, "sk": {"S": "identity"}}


class StoreIdentity(ABC):
    """Every method may raise TableUnavailable."""

    @abstractmethod
    def get(self) -> str | None:
        """A consistent read. None: the table is new, or has lost it."""

    @abstractmethod
    def put_if_absent(self, identity: str) -> bool:
        """False: the table has one."""


class DynamoDBStoreIdentity(StoreIdentity):
    """Stateless; the client may be shared between threads."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._errors = ledger_table_errors(table_name)

    def get(self) -> str | None:
        with self._errors.errors():
            item = self._client.get_item(TableName=self._errors.table, Key=KEY, ConsistentRead=True).get("Item", {})
        if not item:
            return None
        identity = item.get("identity", {}).get("S")
        if not identity:
            raise TableUnavailable(f"ledger table {self._errors.table}: its item identity is malformed; delete it")
        return identity

    def put_if_absent(self, identity: str) -> bool:
        write = partial(
            self._client.put_item,
            TableName=self._errors.table,
            Item=KEY | {"identity": {"S": identity}},
            ConditionExpression="attribute_not_exists(pk)",
        )
        return self._errors.is_written(write)
