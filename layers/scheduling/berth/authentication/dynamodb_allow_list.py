"""The allow-list in the cache table, as an item in a partition of its own.

Every function with a route may read this partition, and no role of a function may write it: who can publish nodes and
pods cannot admit a caller. No resource of the stack has the list as a property, so a deployment cannot overwrite it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.outcomes import CredentialStoreUnavailable
from berth.authentication.stores import AllowListStore
from berth.dynamodb import TableUnavailable, cache_table_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

ALLOW_LIST_KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "allow-list"}, "sk": {"N": "0"}}


class DynamoDBAllowList(AllowListStore):
    """The allow-list of a stack. A read is one consistent call, so a revoked certificate is not read again."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name
        self._errors = cache_table_errors(table_name)

    def read(self) -> AllowList:
        try:
            with self._errors.errors():
                found = self._client.get_item(TableName=self._table, Key=ALLOW_LIST_KEY, ConsistentRead=True)
        except TableUnavailable as error:
            raise CredentialStoreUnavailable(f"the allow-list cannot be read: {error}") from error
        text = found.get("Item", {}).get("text", {}).get("S")
        if text is None:
            raise CredentialStoreUnavailable(
                f"the table {self._table} has no allow-list; write it with: berth certificates allow"
            )
        return parse(text)

    def replace(self, text: str) -> None:
        """Replace the list. Raises TableUnavailable."""
        with self._errors.errors():
            self._client.put_item(TableName=self._table, Item={**ALLOW_LIST_KEY, "text": {"S": text}})
