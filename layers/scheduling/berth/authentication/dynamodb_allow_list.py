"""The allow-list in the cache table. A separate module: the authorizer of Basic credentials does not use a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.authentication.allow_list import AllowList, parse
from berth.authentication.outcomes import CredentialStoreUnavailable
from berth.authentication.stores import AllowListStore
from berth.dynamodb import CacheTableAdapter, TableUnavailable

if TYPE_CHECKING:
    from berth.dynamodb import Attributes

ALLOW_LIST_KEY: Attributes = {"pk": {"S": "allow-list"}, "sk": {"N": "0"}}


class DynamoDBAllowList(CacheTableAdapter, AllowListStore):
    """The allow-list of a stack, in the cache table. A read is one consistent call, so it does not return revoked
    certificates. Every function with a route may read the list, but not write it. A deployment cannot overwrite it."""

    def read(self) -> AllowList:
        try:
            found = self._item(ALLOW_LIST_KEY)
        except TableUnavailable as error:
            raise CredentialStoreUnavailable(f"the allow-list cannot be read: {error}") from error
        text = (found or {}).get("text", {}).get("S")
        if text is None:
            raise CredentialStoreUnavailable(
                f"the table {self._table} has no allow-list; write it with: berth certificates allow"
            )
        return parse(text)

    def replace(self, text: str) -> None:
        """Replace the list. Raises TableUnavailable."""
        with self._errors.errors():
            self._client.put_item(TableName=self._table, Item={**ALLOW_LIST_KEY, "text": {"S": text}})
