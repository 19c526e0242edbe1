"""The ledger's items as DynamoDB stores them.

| item | pk | sk |
|---|---|---|
| ledger of a node | node#name of the node | ledger |
| open reservation | open | UID of the pod#name of the node#attempt |
| marker | ledger | ledger |
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.ledger.nodes.table import Marker, MarkerState
from berth.scheduling.managed_resources.pools import Shares
from berth.scheduling.objects.pod import PodKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    from berth.dynamodb import Attributes, Item

SCHEMA_VERSION = 1
"""The schema that this release writes. Every change of an item raises it."""

OLDEST_READER = 1
"""The oldest schema whose readers and writers may use the items that this release writes.

Raise it if older releases would misread or damage the items, but only after one release that can already read them.
"""

NODE_PREFIX = "node#"
OPEN = "open"
MARKER_KEY: Attributes = {"pk": {"S": "ledger"}, "sk": {"S": "ledger"}}


def node_key(node: str) -> Attributes:
    return {"pk": {"S": NODE_PREFIX + node}, "sk": {"S": "ledger"}}


def node_of(key: Item) -> str:
    """Return the owner of the ledger item with this key: a node, or a floating pool."""
    return key["pk"]["S"].removeprefix(NODE_PREFIX)


def open_key(uid: str, node: str, attempt: str) -> Attributes:
    """Return the key of an attempt's open reservation for a pod on a node."""
    return {"pk": {"S": OPEN}, "sk": {"S": f"{uid}#{node}#{attempt}"}}


def number(value: int) -> UniversalAttributeValueTypeDef:
    return {"N": str(value)}


def time(seconds: float) -> UniversalAttributeValueTypeDef:
    return {"N": str(Decimal(seconds).quantize(Decimal("0.001")))}


def amounts(pools: Mapping[str, int]) -> UniversalAttributeValueTypeDef:
    return {"M": {pool: number(amount) for pool, amount in pools.items()}}


# ---------------------------------------------------------------------------------------------------------------- write


def node_item(ledger: NodeLedger) -> Attributes:
    """Return the whole item, without `avail` while the ledger is being rebuilt."""
    item = node_key(ledger.owner) | {
        "schema": number(SCHEMA_VERSION),
        "oldestReader": number(OLDEST_READER),
        "capacity": amounts(ledger.capacity),
        "owed": amounts(ledger.owed),
        "entries": {"M": {uid: entry_value(entry) for uid, entry in ledger.entries.items()}},
        "epoch": number(ledger.epoch),
    }
    return item if ledger.avail is None else item | {"avail": amounts(ledger.avail)}


def entry_value(entry: Entry) -> UniversalAttributeValueTypeDef:
    return {
        "M": {
            "namespace": {"S": entry.pod.namespace},
            "name": {"S": entry.pod.name},
            "state": {"S": entry.state.value},
            "attempt": {"S": entry.attempt},
            "shares": amounts(entry.shares),
            "since": time(entry.since),
        }
    }


def open_attributes(reservation: OpenReservation) -> Attributes:
    """Return the item's attributes without the key."""
    return {
        "namespace": {"S": reservation.pod.namespace},
        "name": {"S": reservation.pod.name},
        "node": {"S": reservation.node},
        "attempt": {"S": reservation.attempt},
        "shares": amounts(reservation.shares),
        "since": time(reservation.since),
    }


def marker_item(marker: Marker) -> Attributes:
    """Return the item. Every release can read it, so a release that cannot read other items can request a rebuild."""
    return MARKER_KEY | {
        "schema": number(SCHEMA_VERSION),
        "state": {"S": marker.state.value},
        "epoch": number(marker.epoch),
        "since": time(marker.since),
        "nonce": {"S": marker.nonce},
    }


# ----------------------------------------------------------------------------------------------------------------- read


# These functions raise KeyError or ValueError for an item that Berth did not write, or only a later release can read.


def read_node(item: Item) -> NodeLedger:
    """Read a ledger. A ledger without `avail` is rebuilt anyway, so only its epoch must be readable."""
    try:
        return _node(item)
    except (KeyError, ValueError):
        if "avail" not in item and "epoch" in item:
            return NodeLedger(node_of(item), avail=None, epoch=int(item["epoch"]["N"]))
        raise


def _node(item: Item) -> NodeLedger:
    if int(item.get("oldestReader", item["schema"])["N"]) > SCHEMA_VERSION:
        raise ValueError(f"schema {item['schema']['N']} is a later release's")
    return NodeLedger(
        owner=node_of(item),
        capacity=_amounts(item["capacity"]),
        avail=_amounts(item["avail"]) if "avail" in item else None,
        owed=_amounts(item["owed"]),
        entries={uid: _entry(uid, value["M"]) for uid, value in item["entries"]["M"].items()},
        epoch=int(item["epoch"]["N"]),
    )


def read_open(item: Item) -> OpenReservation:
    uid, _, _ = item["sk"]["S"].partition("#")
    return OpenReservation(
        pod=PodKey(item["namespace"]["S"], item["name"]["S"], uid),
        node=item["node"]["S"],
        attempt=item["attempt"]["S"],
        shares=_amounts(item["shares"]),
        since=float(item["since"]["N"]),
    )


def read_marker(item: Item) -> Marker:
    return Marker(
        MarkerState(item["state"]["S"]), int(item["epoch"]["N"]), float(item["since"]["N"]), item["nonce"]["S"]
    )


def _entry(uid: str, value: Item) -> Entry:
    return Entry(
        pod=PodKey(value["namespace"]["S"], value["name"]["S"], uid),
        state=EntryState(value["state"]["S"]),
        attempt=value["attempt"]["S"],
        shares=_amounts(value["shares"]),
        since=float(value["since"]["N"]),
    )


def _amounts(value: AttributeValueTypeDef) -> Shares:
    # An update leaves the value 0 for a removed pool; 0 means the same as a missing value.
    return {pool: int(amount["N"]) for pool, amount in value["M"].items() if int(amount["N"])}
