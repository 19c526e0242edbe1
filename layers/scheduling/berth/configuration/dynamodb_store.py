"""The applied configuration in DynamoDB: items of the partition `configuration` in two tables, and a hash on the head.

The functions read the cache table's document. The ledger's table has a copy, because the cache table may be emptied at
any time, and the configuration defines the resources that the ledger counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from berth.configuration.store import VERSIONS, AppliedVersion, ConfigurationStore, hash_of
from berth.dynamodb import HEAD_KEY, TableErrors, TableUnavailable, cache_table_errors, ledger_table_errors

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from berth.dynamodb import Attributes, Item

SCHEMA_VERSION = 1
"""The schema of the items. Every change increases it, except a new attribute that other releases may leave out, such as
`pluginVersion`."""

OLDEST_READER = 1
"""The oldest schema whose readers may use the items that this release writes."""

PARTITION = "configuration"
# The cache table's sort key is a number, the ledger's sort key is a string.
CACHE_KEY: Attributes = {"pk": {"S": PARTITION}, "sk": {"N": "0"}}
CACHE_SLOTS: Sequence[Attributes] = [{"pk": {"S": PARTITION}, "sk": {"N": str(slot + 1)}} for slot in range(VERSIONS)]
LEDGER_KEY: Attributes = {"pk": {"S": PARTITION}, "sk": {"S": "applied"}}
LEDGER_SLOTS: Sequence[Attributes] = [
    {"pk": {"S": PARTITION}, "sk": {"S": f"version-{slot}"}} for slot in range(VERSIONS)
]


@dataclass(frozen=True, slots=True)
class AppliedDocuments:
    """The document in force in one table, and the recent versions. Thread-safe. Every method may raise
    TableUnavailable. key: the key of the document in force. slots: the keys of the recent versions."""

    client: DynamoDBClient
    key: Attributes
    slots: Sequence[Attributes]
    errors: TableErrors

    def read(self) -> AppliedVersion | None:
        item = self._item(self.key)
        if not item:
            return None
        if _is_later(item):
            raise TableUnavailable(
                f"{self.errors.purpose} table {self.errors.table}: a later release applied the configuration; apply "
                "it again with this release"
            )
        return _version(item)

    def history(self) -> tuple[AppliedVersion, ...]:
        """Return the recent versions, the newest first. Reads each slot consistently; it is rarely called."""
        items = map(self._item, self.slots)
        found = [_version(item) for item in items if item and not _is_later(item)]
        return tuple(sorted(found, key=lambda each: -each.version))

    def record(self, version: AppliedVersion) -> bool:
        """Write the version into its slot. Return False if the slot has this version or a later one."""
        return self._put(self.slots[version.version % len(self.slots)], version, "<", version.version)

    def replace(self, version: AppliedVersion, seen: AppliedVersion | None) -> bool:
        """Put the version into force. Return False if the version in force is no longer `seen`."""
        return self._put(self.key, version, "=", 0 if seen is None else seen.version)

    def _item(self, key: Attributes) -> Item:
        with self.errors.errors():
            return self.client.get_item(TableName=self.errors.table, Key=key, ConsistentRead=True).get("Item", {})

    def _put(self, key: Attributes, version: AppliedVersion, comparison: str, number: int) -> bool:
        write = partial(
            self.client.put_item,
            TableName=self.errors.table,
            Item={**key, **_attributes(version)},
            ConditionExpression=f"attribute_not_exists(pk) OR version {comparison} :version",
            ExpressionAttributeValues={":version": {"N": str(number)}},
        )
        return self.errors.is_written(write)


def _is_later(item: Item) -> bool:
    return int(item["oldestReader"]["N"]) > SCHEMA_VERSION


def _version(item: Item) -> AppliedVersion:
    return AppliedVersion(
        int(item["version"]["N"]),
        item["document"]["S"],
        float(item["appliedAt"]["N"]),
        item["note"]["S"],
        item.get("pluginVersion", {}).get("S", ""),
        item.get("stopsCounting", {}).get("BOOL", False),
    )


def _attributes(version: AppliedVersion) -> Attributes:
    found: Attributes = {
        "version": {"N": str(version.version)},
        "document": {"S": version.document},
        "appliedAt": {"N": str(version.applied_at)},
        "note": {"S": version.note},
        "schema": {"N": str(SCHEMA_VERSION)},
        "oldestReader": {"N": str(OLDEST_READER)},
    }
    if version.plugin_version:
        found["pluginVersion"] = {"S": version.plugin_version}
    if version.stops_counting:
        found["stopsCounting"] = {"BOOL": True}
    return found


ATTEMPTS = 3
"""The number of attempts of `apply`; an attempt fails if another user applies a document at the same time."""


class DynamoDBConfigurationStore(ConfigurationStore):
    """The store in DynamoDB. Stateless; the client may be shared between threads. The hash on the head is not part of
    the lease or the pointer: writing it does not need a fence, and a publication does not change it."""

    def __init__(self, client: DynamoDBClient, table_name: str, ledger_table_name: str = "") -> None:
        """Create the store. ledger_table_name: empty without a ledger; then the document is only in the cache table."""
        self._client, self._table = client, table_name
        self._cache = AppliedDocuments(client, CACHE_KEY, CACHE_SLOTS, cache_table_errors(table_name))
        self._ledger: AppliedDocuments | None = None
        if ledger_table_name:
            self._ledger = AppliedDocuments(client, LEDGER_KEY, LEDGER_SLOTS, ledger_table_errors(ledger_table_name))
        self._tables = [self._cache] if self._ledger is None else [self._cache, self._ledger]

    def read(self) -> str | None:
        # The cache table may have been emptied; the ledger's table then has the document, and the history.
        found = next((found for each in self._tables if (found := each.read()) is not None), None)
        return None if found is None else found.document

    def counting_is_stopped(self) -> bool:
        found = (self._ledger or self._cache).read()
        return found is not None and found.stops_counting

    def history(self) -> tuple[AppliedVersion, ...]:
        return next((found for each in self._tables if (found := each.history())), ())

    def _apply(self, version: AppliedVersion) -> None:
        for _ in range(ATTEMPTS):
            # The ledger's document is replaced first. If the second write fails, `restore` copies the later document.
            seen = [(each, each.read()) for each in reversed(self._tables)]
            known = [each for table, found in seen for each in (found, *table.history()) if each is not None]
            version = replace(version, version=1 + max((each.version for each in known), default=0))
            # Record the document in both histories before it takes effect.
            if all(each.record(version) for each in self._tables) and all(
                each.replace(version, replaced) for each, replaced in seen
            ):
                self._point(version)
                return
        raise TableUnavailable("another configuration is being applied at the same time; apply this one again")

    def restore(self) -> str:
        done = ""
        try:
            done = "" if self._ledger is None else self._repair(self._ledger)
        finally:
            # Check the head even if the ledger's table is unavailable.
            cached = self._cache.read()
            if cached is not None:
                self._point(cached, only_if_missing=not done)
        return done

    def _repair(self, ledger: AppliedDocuments) -> str:
        """Copy the most recently applied document to the other table. Return a log message; empty without a change."""
        kept, cached = ledger.read(), self._cache.read()
        if kept is not None and (cached is None or kept.version > cached.version):
            what = "the cache table had none" if cached is None else "the cache table's was applied before it"
            return f"the ledger's copy is in force: {what}" if self._cache.replace(kept, cached) else ""
        if cached is not None and (kept is None or cached.version > kept.version):
            what = "the ledger's table had none" if kept is None else "the ledger's was applied before it"
            return f"the cache table's copy is in force: {what}" if ledger.replace(cached, kept) else ""
        return ""

    def _point(self, version: AppliedVersion, *, only_if_missing: bool = False) -> None:
        """Point the head to this version, unless it already does. only_if_missing: only if the head does not point
        to any version."""
        values: Attributes = {":hash": {"S": hash_of(version.document)}}
        update, condition = "SET configurationHash = :hash REMOVE pluginVersion", "attribute_exists(pluginVersion)"
        if version.plugin_version:
            values[":plugins"] = {"S": version.plugin_version}
            update = "SET configurationHash = :hash, pluginVersion = :plugins"
            condition = "attribute_not_exists(pluginVersion) OR pluginVersion <> :plugins"
        missing = "attribute_not_exists(configurationHash)"
        self._cache.errors.is_written(
            partial(
                self._client.update_item,
                TableName=self._table,
                Key=HEAD_KEY,
                UpdateExpression=update,
                ConditionExpression=(
                    missing if only_if_missing else f"{missing} OR configurationHash <> :hash OR {condition}"
                ),
                ExpressionAttributeValues=values,
            )
        )
