"""The ledger's table in DynamoDB: partition key `pk` (S), sort key `sk` (S), no TTL.

The client determines timeouts and retries. Every write is safe to retry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb import Assignments, ItemHeld, TableAdapter
from berth.ledger.nodes.dynamodb_item import (
    MARKER_KEY,
    NODE_PREFIX,
    OPEN,
    marker_item,
    node_item,
    node_key,
    number,
    open_attributes,
    open_key,
    read_marker,
    read_node,
    read_open,
)
from berth.ledger.nodes.entry import NodeLedger, OpenReservation
from berth.ledger.nodes.table import LedgerTable, Marker, NotWritten, Written

if TYPE_CHECKING:
    from berth.dynamodb import Item
    from berth.ledger.nodes.node_write import NodeWrite

REBUILD_REMEDY = "; rebuild the ledger with berth reservations rebuild"
_EPOCH_NOT_LATER = "#epoch <= :mine"
_EPOCH = {"#epoch": "epoch"}


class DynamoDBLedgerTable(TableAdapter, LedgerTable):
    """The ledger's table. Stateless; the client may be shared between threads."""

    def node(self, name: str) -> NodeLedger | None:
        item = self._item(node_key(name))
        return None if item is None else self._read(item)

    def nodes(self) -> Sequence[NodeLedger]:
        items = self._items(
            "scan", FilterExpression="begins_with(pk, :node)", ExpressionAttributeValues={":node": {"S": NODE_PREFIX}}
        )
        return sorted(map(self._read, items), key=lambda ledger: ledger.owner)

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        # Only writes of a node's ledger need this import: the other verbs only read.
        from berth.ledger.nodes.dynamodb_write import update_request

        try:
            return self._update(**update_request(node, change))
        except ItemHeld:
            # A gang's commit holds the item, and may fail or succeed. The read gives it time to end.
            return NotWritten(self.node(node))

    def write_together(
        self, changes: Mapping[str, NodeWrite], opened: OpenReservation | None = None
    ) -> tuple[str, ...] | None:
        from berth.ledger.nodes.dynamodb_write import update_request

        table = {"TableName": self._table}
        actions: Any = [{"Update": table | update_request(*each)} for each in changes.items()]
        if opened is not None:
            key = open_key(opened.pod.uid, opened.node, opened.attempt)
            actions.append(Assignments.of(open_attributes(opened)).action(self._table, key))
        failed = self._errors.transact(lambda: self._client.transact_write_items(TransactItems=actions))
        # The open reservation does not have a condition.
        return None if failed is None else tuple(owner for owner, fails in zip(changes, failed, strict=False) if fails)

    def create(self, ledger: NodeLedger) -> Written | NotWritten:
        return self._put(ledger, ConditionExpression="attribute_not_exists(pk)")

    def begin_rebuild(self, node: str, epoch: int) -> Written | NotWritten:
        return self._update(
            Key=node_key(node),
            UpdateExpression="SET #epoch = :mine REMOVE #a",
            ConditionExpression=_EPOCH_NOT_LATER,
            ExpressionAttributeNames={"#a": "avail", **_EPOCH},
            ExpressionAttributeValues={":mine": number(epoch)},
        )

    def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
        return self._put(
            ledger,
            ConditionExpression=f"attribute_not_exists(pk) OR (attribute_not_exists(#a) AND {_EPOCH_NOT_LATER})",
            ExpressionAttributeNames={"#a": "avail", **_EPOCH},
            ExpressionAttributeValues={":mine": number(ledger.epoch)},
        )

    def delete_if_empty(self, node: str, epoch: int) -> Written | NotWritten:
        return self._written(
            self._client.delete_item,
            Key=node_key(node),
            ConditionExpression=f"{_EPOCH_NOT_LATER} AND size(#e) = :none",
            ExpressionAttributeNames={"#e": "entries", **_EPOCH},
            ExpressionAttributeValues={":none": number(0), ":mine": number(epoch)},
            ReturnValues="ALL_OLD",
        )

    def put_open(self, reservation: OpenReservation) -> None:
        key = open_key(reservation.pod.uid, reservation.node, reservation.attempt)
        with self._errors.errors():
            self._client.put_item(TableName=self._table, Item=key | open_attributes(reservation))

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        with self._errors.errors():
            self._client.delete_item(TableName=self._table, Key=open_key(uid, node, attempt))

    def open_reservations(self) -> Sequence[OpenReservation]:
        values = {":open": {"S": OPEN}}
        items = self._items("query", KeyConditionExpression="pk = :open", ExpressionAttributeValues=values)
        with self._well_formed("an item", REBUILD_REMEDY):
            return [read_open(item) for item in items]

    def marker(self) -> Marker | None:
        return self._marker(is_consistent=True)

    def marker_eventually(self) -> Marker | None:
        return self._marker(is_consistent=False)

    def _marker(self, *, is_consistent: bool) -> Marker | None:
        item = self._item(MARKER_KEY, is_consistent=is_consistent)
        with self._well_formed("an item", REBUILD_REMEDY):
            return None if item is None else read_marker(item)

    def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
        before = "attribute_not_exists(pk)" if seen is None else "#n = :seen"
        values: dict[str, Any] = {":mine": {"S": marker.nonce}}
        if seen is not None:
            values[":seen"] = {"S": seen.nonce}
        return self._is_written(
            self._client.put_item,
            Item=marker_item(marker),
            ConditionExpression=f"{before} OR #n = :mine",
            ExpressionAttributeNames={"#n": "nonce"},
            ExpressionAttributeValues=values,
        )

    def _put(self, ledger: NodeLedger, **condition: Any) -> Written | NotWritten:
        # A put does not return the new item.
        return self._written(self._client.put_item, ledger, Item=node_item(ledger), **condition)

    def _update(self, **request: Any) -> Written | NotWritten:
        return self._written(self._client.update_item, ReturnValues="ALL_NEW", **request)

    def _written(
        self, write: Callable[..., Any], ledger: NodeLedger | None = None, **request: Any
    ) -> Written | NotWritten:
        """Make a conditional write. ledger: the ledger that is written; None if the answer contains it."""
        try:
            answer = write(TableName=self._table, ReturnValuesOnConditionCheckFailure="ALL_OLD", **request)
        except (ClientError, BotoCoreError) as error:
            found = self._errors.refused(error)
            return NotWritten(None if found is None else self._read(found))
        return Written(ledger or self._read(answer["Attributes"]))

    def _read(self, item: Item) -> NodeLedger:
        with self._well_formed("an item", REBUILD_REMEDY):
            return read_node(item)
