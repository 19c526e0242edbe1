"""What moto keeps beyond the tables' contents, and what DynamoDB's time to live would delete.

moto keeps a reference to every model that it ever created, for the dashboard of its server. It keeps expired items too.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from moto.core.model_instances import model_data
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item

from berth.lease.dynamodb_item import HEAD_KEY

_HEAD_KEY: Mapping[str, Any] = HEAD_KEY
_HEAD_PARTITION, _HEAD_SORT_KEY = DynamoType(_HEAD_KEY["pk"]), DynamoType(_HEAD_KEY["sk"])

Items = MutableMapping[Any, dict[Any, Item]]
"""A table of moto: items by partition key and sort key."""


class _NoInstances(list[object]):
    """Stays empty."""

    def append(self, instance: object) -> None:
        """Keep nothing."""


def stop_instance_tracking() -> None:
    """Let moto forget an item as soon as its table has forgotten it."""
    for model in model_data["dynamodb"].values():
        model.instances_tracked = _NoInstances()  # type: ignore[attr-defined]


class CacheCleanup:
    """Removes log items and snapshots that no reader needs, as soon as the head points to another snapshot.

    The stack leaves them to DynamoDB, which deletes them after a day. Here writer and readers are in one process: a
    reader that misses an item reads the head again.
    """

    def __init__(self, cache_table: str) -> None:
        self._cache_table = cache_table
        self._snapshot_id: str | None = None

    def run(self, backend: DynamoDBBackend) -> None:
        """Call it after every request. It costs a look at the head while the snapshot is the same."""
        if self._cache_table not in backend.tables:
            return
        items: Items = backend.tables[self._cache_table].items
        head = _head(items)
        if head is None:
            return
        snapshot_id = _snapshot_id(head)
        if snapshot_id == self._snapshot_id:
            return
        self._snapshot_id = snapshot_id
        _remove_superseded(items, head, snapshot_id)
        for table in backend.tables.values():
            _remove_empty_partitions(table.items)


def _head(items: Items) -> Mapping[str, Any] | None:
    # Not items[…]: moto's dictionary adds a partition for every key that it is asked for.
    head = items.get(_HEAD_PARTITION, {}).get(_HEAD_SORT_KEY)
    return None if head is None or "snapshot" not in head.attrs else head.attrs


def _snapshot_id(head: Mapping[str, Any]) -> str | None:
    snapshot = head["snapshot"]
    return snapshot.value["id"].value if snapshot.type == "M" else None


def _remove_superseded(items: Items, head: Mapping[str, Any], snapshot_id: str | None) -> None:
    """Keep the log of this head after `compactedVersion`, and this snapshot."""
    log, compacted = f"log#{head['uid'].value}", int(head["compactedVersion"].value)
    for partition in list(items):
        kind, _, rest = partition.value.partition("#")
        if kind == "snapshot" and rest.partition("#")[0] != snapshot_id:
            del items[partition]
        elif kind == "log":
            items[partition] = {
                version: item
                for version, item in items[partition].items()
                if partition.value == log and int(version.value) > compacted
            }


def _remove_empty_partitions(items: MutableMapping[Any, dict[Any, Any]]) -> None:
    for partition in [partition for partition, found in items.items() if not found]:
        del items[partition]
