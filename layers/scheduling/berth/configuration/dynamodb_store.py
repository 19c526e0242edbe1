"""The applied configuration in DynamoDB: an item `configuration` in two tables, and its hash on the head.

The functions read the cache table's copy. The ledger's copy is there because the cache table may be emptied at any
time, and the configuration says what the ledger counts.

The items stand in the partition of the applied document's copy. Releases without a history do not read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from berth.configuration.document_copy import CACHE_KEY, LEDGER_KEY, PARTITION, AppliedDocument, DocumentCopy
from berth.configuration.store import VERSIONS, AppliedVersion, ConfigurationStore, hash_of
from berth.dynamodb import (
    CONDITION_FAILED,
    HEAD_KEY,
    TableErrors,
    TableUnavailable,
    cache_table_errors,
    ledger_table_errors,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    from berth.configuration.document_copy import Attributes

SCHEMA_VERSION = 1
OLDEST_READER = 1

# The cache table's sort key is a number, the ledger's a text.
CACHE_SLOTS: Sequence[Attributes] = [{"pk": {"S": PARTITION}, "sk": {"N": str(slot + 1)}} for slot in range(VERSIONS)]
LEDGER_SLOTS: Sequence[Attributes] = [
    {"pk": {"S": PARTITION}, "sk": {"S": f"version-{slot}"}} for slot in range(VERSIONS)
]


@dataclass(frozen=True, slots=True)
class DocumentHistory:
    """The history in one table. Stateless; threads may share the client. Every method may raise TableUnavailable."""

    client: DynamoDBClient
    slots: Sequence[Attributes]
    errors: TableErrors

    def read(self) -> tuple[AppliedVersion, ...]:
        """Return the versions, the newest first. It reads each slot consistently, because it is rarely called."""
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


KEY = CACHE_KEY
ATTEMPTS = 3
"""The number of attempts of `apply`; one fails if somebody else applies a document at the same time."""


class DynamoDBConfigurationStore(ConfigurationStore):
    """Has no state of its own; the client may be shared between threads.

    The head's attribute is not part of lease or pointer: writing it neither renews nor deposes a leader, so it needs no
    fence, and a publication leaves it alone.
    """

    def __init__(self, client: DynamoDBClient, table_name: str, ledger_table_name: str = "") -> None:
        """ledger_table_name: empty without a ledger; the cache table then has the only copy."""
        self._client = client
        self._table = table_name
        self._cache = DocumentCopy(client, CACHE_KEY, cache_table_errors(table_name))
        self._histories = [DocumentHistory(client, CACHE_SLOTS, cache_table_errors(table_name))]
        if ledger_table_name:
            self._histories.append(DocumentHistory(client, LEDGER_SLOTS, ledger_table_errors(ledger_table_name)))
        self._ledger = (
            DocumentCopy(client, LEDGER_KEY, ledger_table_errors(ledger_table_name)) if ledger_table_name else None
        )

    def read(self) -> str | None:
        found = self._cache.read()
        if found is None and self._ledger is not None:
            found = self._ledger.read()
        return None if found is None else found.document

    def counting_is_stopped(self) -> bool:
        found = (self._ledger or self._cache).read()
        return found is not None and found.stops_counting

    def history(self) -> tuple[AppliedVersion, ...]:
        # The cache table may have been emptied; the ledger's table then has them.
        return next((found for each in self._histories if (found := each.read())), ())

    def apply(
        self,
        document: str,
        *,
        stops_counting: bool = False,
        at: float = 0.0,
        note: str = "",
        plugin_version: str = "",
    ) -> None:
        self._record(document, at, note, plugin_version)
        applied = AppliedDocument(document, stops_counting=stops_counting, plugin_version=plugin_version)
        if self._ledger is None:
            self._cache.put(applied)
        else:
            self._apply_to_both(applied, self._ledger)
        self._point(applied)

    def restore(self) -> str:
        done = ""
        try:
            done = "" if self._ledger is None else self._repair(self._ledger)
        finally:
            # Also if the ledger's table is unavailable.
            cached = self._cache.read()
            if cached is not None:
                self._point(cached, only_if_missing=not done)
        return done

    def _record(self, document: str, at: float, note: str, plugin_version: str) -> None:
        """Record the document before it takes effect. The first version of all is the document that it replaces."""
        for history in self._histories:
            replaced = None if history.read() else self.read()
            if replaced is not None:
                history.record(replaced, 0.0, "in force before versions were kept")
            history.record(document, at, note, plugin_version)

    def _apply_to_both(self, applied: AppliedDocument, ledger: DocumentCopy) -> None:
        for _ in range(ATTEMPTS):
            kept, cached = ledger.read(), self._cache.read()
            numbered = replace(applied, sequence=_sequence(kept, cached) + 1)
            if ledger.replace(numbered, kept) and self._cache.replace(numbered, cached):
                return
        raise TableUnavailable("another configuration is being applied at the same time; apply this one again")

    def _repair(self, ledger: DocumentCopy) -> str:
        """Let both tables have the document that was applied last. What was done, for the log; empty: nothing."""
        kept, cached = ledger.read(), self._cache.read()
        if kept is None and cached is None:
            return ""
        if cached is None or (kept is not None and kept.sequence > cached.sequence > 0):
            assert kept is not None
            what = "the cache table had none" if cached is None else "the cache table's was applied before it"
            return f"the ledger's copy is in force: {what}" if self._cache.replace(kept, cached) else ""
        if kept is not None and (kept.sequence == cached.sequence or kept.document == cached.document):
            return ""
        # A document without a sequence was applied by an earlier release, after any that has one.
        newest = cached if cached.sequence else replace(cached, sequence=_sequence(kept, cached) + 1)
        if not ledger.replace(newest, kept):
            return ""
        if newest != cached:
            self._cache.replace(newest, cached)
        what = "the ledger's table had none" if kept is None else "the ledger's was applied before it"
        return f"the cache table's copy is in force: {what}"

    def _point(self, applied: AppliedDocument, *, only_if_missing: bool = False) -> None:
        """Let the head point there, unless it does. only_if_missing: unless it points anywhere."""
        plugins = applied.plugin_version
        values: Attributes = {":hash": {"S": hash_of(applied.document)}}
        update, condition = "SET configurationHash = :hash REMOVE pluginVersion", "attribute_exists(pluginVersion)"
        if plugins:
            values[":plugins"] = {"S": plugins}
            update = "SET configurationHash = :hash, pluginVersion = :plugins"
            condition = "attribute_not_exists(pluginVersion) OR pluginVersion <> :plugins"
        missing = "attribute_not_exists(configurationHash)"
        with cache_table_errors(self._table).errors():
            try:
                self._client.update_item(
                    TableName=self._table,
                    Key=HEAD_KEY,
                    UpdateExpression=update,
                    ConditionExpression=(
                        missing if only_if_missing else f"{missing} OR configurationHash <> :hash OR {condition}"
                    ),
                    ExpressionAttributeValues=values,
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != CONDITION_FAILED:
                    raise


def _sequence(*copies: AppliedDocument | None) -> int:
    return max((copy.sequence for copy in copies if copy is not None), default=0)
