"""The applied configuration in the cache table: the item `configuration`, and its hash on the head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from berth.configuration.store import ConfigurationStore, hash_of
from berth.dynamodb_errors import cache_table_errors
from berth.lease.dynamodb_item import HEAD_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import UniversalAttributeValueTypeDef

_CONDITION_FAILED = "ConditionalCheckFailedException"

KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "configuration"}, "sk": {"N": "0"}}


class DynamoDBConfigurationStore(ConfigurationStore):
    """Without state of its own; the client may be shared between threads.

    The head's attribute is no part of lease or pointer: writing it neither renews nor deposes anybody, so it needs no
    fence, and a publication leaves it alone.
    """

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def read(self) -> str | None:
        with cache_table_errors(self._table).errors():
            answer = self._client.get_item(TableName=self._table, Key=KEY, ConsistentRead=True)
        return answer.get("Item", {}).get("document", {}).get("S")

    def apply(self, document: str) -> None:
        with cache_table_errors(self._table).errors():
            self._client.put_item(TableName=self._table, Item=KEY | {"document": {"S": document}})
            self._point(hash_of(document), "attribute_not_exists(configurationHash) OR configurationHash <> :hash")

    def restore(self) -> None:
        document = self.read()
        if document is not None:
            with cache_table_errors(self._table).errors():
                self._point(hash_of(document), "attribute_not_exists(configurationHash)")

    def _point(self, configuration_hash: str, condition: str) -> None:
        """Let the head point there if the condition holds; otherwise it need not."""
        try:
            self._client.update_item(
                TableName=self._table,
                Key=HEAD_KEY,
                UpdateExpression="SET configurationHash = :hash",
                ConditionExpression=condition,
                ExpressionAttributeValues={":hash": {"S": configuration_hash}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != _CONDITION_FAILED:
                raise
