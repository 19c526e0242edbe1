"""DynamoDB inside this process: the real boto3 client on moto, behind one lock.

moto's conditional writes are not thread-safe. The lock makes them correct.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

import boto3
import botocore.session
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.model_instances import model_data
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item

from berth.lease.dynamodb_item import HEAD_KEY
from berth.ledger_holder.store_identity import DynamoDBStoreIdentity
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.reservations.ledger.table import Marker, MarkerState

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


CACHE_TABLE = "berth-cache"
LEDGER_TABLE = "berth-ledger"
REGION = "us-east-1"
ACCOUNT = "123456789012"
"""The account of moto's tables."""


class EmbeddedDynamoDB:
    """Replaces the network of every DynamoDB client that boto3's default session creates afterwards."""

    def __init__(self) -> None:
        self._moto = BotocoreStubber()
        self._moto.enabled = True
        self._lock = Lock()
        self._cleanup = CacheCleanup(CACHE_TABLE)

    def install(self) -> bool:
        """Point boto3's default session at this store and create the tables of template.yaml. Whether they are new."""
        stop_instance_tracking()
        # Credentials are set on the session, not in the environment: a kubeconfig may call `aws eks get-token` with
        # the user's environment. AWS_PROFILE is ignored.
        session = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
        session.set_credentials("embedded", "embedded")
        session.set_config_variable("region", REGION)
        session.set_config_variable("ignore_configured_endpoint_urls", True)
        session.register("before-send.dynamodb", self._answer)
        boto3.setup_default_session(botocore_session=session)
        # moto has one store per process, so a second installation finds existing tables.
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(CACHE_TABLE, "N")
        with suppress(boto3.client("dynamodb").exceptions.ResourceInUseException):
            self._create_table(LEDGER_TABLE, "S")
            return True
        return False

    @staticmethod
    def _create_table(name: str, sort_key: Literal["N", "S"]) -> None:
        boto3.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": sort_key},
            ],
        )

    def _answer(self, **event: Any) -> Any:
        with self._lock:
            answer = self._moto(**event)
            self._cleanup.run(dynamodb_backends[ACCOUNT][REGION])
            return answer


def mark_ledger_ready() -> str:
    """Mark the ledger ready, and name this store in it. Returns the store's identity.

    No bind can have begun in this store. If another store has counted, the takeover of the Lease requests a rebuild.
    """
    client = boto3.client("dynamodb")
    ledger = DynamoDBLedgerTable(client, LEDGER_TABLE)
    ledger.put_marker(Marker(MarkerState.READY, 0, time.time(), "embedded"), None)
    name = f"berth serve on {socket.gethostname()}, process {os.getpid()}"
    identity = f"{name}/{uuid4().hex}"
    DynamoDBStoreIdentity(client, LEDGER_TABLE).put_if_absent(identity)
    return identity
