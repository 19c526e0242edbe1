"""The documents that were applied last: an item for each version, in a ring of slots, so that their number is bounded.

The items stand in the partition of the applied document's copy. Releases that know no history do not read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from berth.configuration.document_copy import PARTITION
from berth.configuration.store import VERSIONS, AppliedVersion
from berth.dynamodb import TableErrors, TableUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    from berth.configuration.document_copy import Attributes

SCHEMA_VERSION = 1
OLDEST_READER = 1
ATTEMPTS = 3
"""How often `record` begins again when somebody else records a version at the same time."""

# The cache table's sort key is a number, the ledger's a text.
CACHE_SLOTS: Sequence[Attributes] = [{"pk": {"S": PARTITION}, "sk": {"N": str(slot + 1)}} for slot in range(VERSIONS)]
LEDGER_SLOTS: Sequence[Attributes] = [
    {"pk": {"S": PARTITION}, "sk": {"S": f"version-{slot}"}} for slot in range(VERSIONS)
]


@dataclass(frozen=True, slots=True)
class DocumentHistory:
    """Of one table. Stateless; the client may be shared between threads. Every method may raise TableUnavailable."""

    client: DynamoDBClient
    slots: Sequence[Attributes]
    errors: TableErrors

    def read(self) -> tuple[AppliedVersion, ...]:
        """The versions, the newest first. A consistent read for each slot: it is rarely called."""
        found = []
        with self.errors.errors():
            for key in self.slots:
                answer = self.client.get_item(TableName=self.errors.table, Key=key, ConsistentRead=True)
                item: Mapping[str, AttributeValueTypeDef] = answer.get("Item", {})
                if "version" in item and int(item["oldestReader"]["N"]) <= SCHEMA_VERSION:
                    found.append(
                        AppliedVersion(
                            int(item["version"]["N"]),
                            item["document"]["S"],
                            float(item["appliedAt"]["N"]),
                            item["note"]["S"],
                            item.get("pluginVersion", {}).get("S", ""),
                        )
                    )
        return tuple(sorted(found, key=lambda each: -each.version))

    def record(self, document: str, at: float, note: str, plugin_version: str = "") -> None:
        for _ in range(ATTEMPTS):
            newest = next((each.version for each in self.read()), 0)
            if self._put(AppliedVersion(newest + 1, document, at, note, plugin_version)):
                return
        raise TableUnavailable("another configuration is being applied at the same time; apply this one again")

    def _put(self, version: AppliedVersion) -> bool:
        item: Attributes = {
            "version": {"N": str(version.version)},
            "document": {"S": version.document},
            "appliedAt": {"N": str(version.applied_at)},
            "note": {"S": version.note},
            "schema": {"N": str(SCHEMA_VERSION)},
            "oldestReader": {"N": str(OLDEST_READER)},
        }
        if version.plugin_version:
            item["pluginVersion"] = {"S": version.plugin_version}
        write = partial(
            self.client.put_item,
            TableName=self.errors.table,
            Item={**self.slots[version.version % len(self.slots)], **item},
            ConditionExpression="attribute_not_exists(pk) OR version < :version",
            ExpressionAttributeValues={":version": item["version"]},
        )
        return self.errors.is_written(write)
