"""The lock on DynamoDB: conditional updates of an item, usually the head, that keep the node cache's attributes.

The client's configuration limits the time of a call. It must allow at most two attempts of one second each, because
botocore's default retries take longer than the renew deadline. If a write was committed but its answer was lost, the
second attempt finds the call's own nonce in the item, and the call counts as written.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb import HEAD_KEY, Assignments, CacheTableAdapter, TableUnavailable
from berth.lease.lock import (
    ATTRIBUTES,
    Conflict,
    Fence,
    Lease,
    LeaseLock,
    LeaseSpec,
    MalformedLease,
    Unavailable,
    Written,
    as_stored,
    lease_attributes,
    micro_time,
    read_lease,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    from berth.dynamodb import Attributes, Item

STANDBY_KEY: Attributes = {"pk": {"S": "standby"}, "sk": {"N": "0"}}

ITEM_IS_ABSENT = "attribute_not_exists(#pk)"
RECORD_IS_ABSENT = "attribute_exists(#pk) AND attribute_not_exists(#resourceVersion) AND attribute_not_exists(#uid)"
VERSION_MATCHES = "#resourceVersion = :seen AND #uid = :uid"
FENCE_MATCHES = f"{VERSION_MATCHES} AND #holderIdentity = :holderIdentity AND #leaseTransitions = :leaseTransitions"


def fenced_update(fence: Fence, *, renew_time: float, nonce: str) -> Assignments:
    """Return the lease's part of an update that publishes under the condition FENCE_MATCHES. It renews the lease.
    nonce: unique per publication, so that a retry recognizes a write whose answer was lost."""
    update = Assignments.of(
        {
            "resourceVersion": {"N": str(fence.next_resource_version)},
            "renewTime": {"N": str(micro_time(renew_time))},
            "nonce": {"S": nonce},
        }
    )
    # The version and the uid are sufficient. The holder and the epoch are compared, too, to reveal a defect.
    names = {f"#{name}": name for name in ("uid", "holderIdentity", "leaseTransitions")}
    condition: Attributes = {
        ":seen": {"N": str(fence.resource_version)},
        ":uid": {"S": fence.uid},
        ":holderIdentity": {"S": fence.holder_identity},
        ":leaseTransitions": {"N": str(fence.lease_transitions)},
    }
    return Assignments(update.text, update.names | names, update.values | condition)


def lease_update(lease: Lease) -> Assignments:
    attributes = lease_attributes(lease).items()
    return Assignments.of(
        {name: {"S": value} if isinstance(value, str) else {"N": str(value)} for name, value in attributes}
    )


def read_item(item: Item) -> Lease:
    """Read the lease of an item. Raises MalformedLease."""
    return read_lease({name: _untyped(item[name]) for name in ATTRIBUTES if name in item})


def _untyped(value: AttributeValueTypeDef) -> object:
    if "S" in value:
        return value["S"]
    if "N" in value:
        return Decimal(value["N"])
    return value


class DynamoDBLeaseLock(CacheTableAdapter, LeaseLock):
    """The lock on one item. Stateless; the client may be shared between threads."""

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        new_id: Callable[[], str] = lambda: uuid4().hex,
        key: Attributes = HEAD_KEY,
    ) -> None:
        super().__init__(client, table_name)
        self._new_id, self._key = new_id, key

    def get(self) -> Lease | Unavailable | None:
        try:
            item = self._item(self._key)
        except TableUnavailable as error:
            return Unavailable(str(error))
        return None if item is None else self._read(item)

    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        lease = Lease(spec, resource_version=1, uid=self._new_id(), nonce=self._new_id())
        return self._write(lease, ITEM_IS_ABSENT, names={"#pk": "pk"}, values={})

    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        lease = Lease(spec, seen.resource_version + 1, uid=seen.uid or self._new_id(), nonce=self._new_id())
        if not seen.uid:
            return self._write(lease, RECORD_IS_ABSENT, names={"#pk": "pk"}, values={})
        return self._write(lease, VERSION_MATCHES, names={}, values={":seen": {"N": str(seen.resource_version)}})

    def _write(
        self,
        lease: Lease,
        condition: str,
        names: dict[str, str],
        values: Attributes,
    ) -> Written | Conflict | Unavailable:
        update = lease_update(lease)
        removed = "" if "#handoverAt" in update.names else " REMOVE #handoverAt"
        try:
            self._client.update_item(
                TableName=self._table,
                Key=self._key,
                ConditionExpression=condition,
                UpdateExpression=f"SET {update.text}{removed}",
                ExpressionAttributeNames=update.names | names | {"#handoverAt": "handoverAt"},
                ExpressionAttributeValues=update.values | values,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except (ClientError, BotoCoreError) as error:
            return self._refused(lease.nonce, error)
        return Written(as_stored(lease))

    def _refused(self, nonce: str, error: ClientError | BotoCoreError) -> Written | Conflict | Unavailable:
        try:
            item = self._errors.refused(error)
        except TableUnavailable as unavailable:
            return Unavailable(str(unavailable))
        current = None if item is None else self._read(item)
        if isinstance(current, Unavailable):
            return current
        # If the item has this nonce, the first attempt was committed, its answer was lost, and the client retried.
        is_mine = current is not None and current.nonce == nonce
        return Written(current) if current is not None and is_mine else Conflict(current)

    def _read(self, item: Item) -> Lease | Unavailable:
        try:
            return read_item(item)
        except MalformedLease as error:
            return Unavailable(f"node cache table {self._table}: {error}")
