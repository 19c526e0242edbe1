"""The lock on DynamoDB: conditional updates of an item, mostly the head, which leave the node cache's attributes alone.

The client decides how long a call may take. It must be short, one or two attempts of a second: botocore's own retries
outlive the renew deadline. A second attempt of a write whose first was committed meets its own trace, a nonce that is
different for every call; so it is not mistaken for a lost race.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

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
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, UniversalAttributeValueTypeDef

    Values = dict[str, UniversalAttributeValueTypeDef]

HEAD_KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "head"}, "sk": {"N": "0"}}
STANDBY_KEY: dict[str, UniversalAttributeValueTypeDef] = {"pk": {"S": "standby"}, "sk": {"N": "0"}}

ITEM_IS_ABSENT = "attribute_not_exists(#pk)"
RECORD_IS_ABSENT = "attribute_exists(#pk) AND attribute_not_exists(#resourceVersion) AND attribute_not_exists(#uid)"
VERSION_MATCHES = "#resourceVersion = :seen AND #uid = :uid"
FENCE_MATCHES = f"{VERSION_MATCHES} AND #holderIdentity = :holderIdentity AND #leaseTransitions = :leaseTransitions"


@dataclass(frozen=True, slots=True)
class FencedUpdate:
    """The lease's part of an UpdateItem that publishes under a fence. The update also renews the lease.

    The writer adds its own assignments, names and values, and uses `condition` as it is.
    """

    condition: str
    assignments: str
    names: dict[str, str]
    values: Values


def fenced_update(fence: Fence, *, renew_time: float, nonce: str) -> FencedUpdate:
    """`nonce`: one per publication, the same in each repetition, so that a write without an answer is recognized."""
    # Version and uid alone are sufficient; holder and epoch catch a mistake in them.
    return FencedUpdate(
        FENCE_MATCHES,
        "#resourceVersion = :next, #renewTime = :renewTime, #nonce = :nonce",
        _names("resourceVersion", "renewTime", "nonce", "uid", "holderIdentity", "leaseTransitions"),
        {
            ":seen": {"N": str(fence.resource_version)},
            ":uid": {"S": fence.uid},
            ":holderIdentity": {"S": fence.holder_identity},
            ":leaseTransitions": {"N": str(fence.lease_transitions)},
            ":next": {"N": str(fence.next_resource_version)},
            ":renewTime": {"N": str(micro_time(renew_time))},
            ":nonce": {"S": nonce},
        },
    )


@dataclass(frozen=True, slots=True)
class LeaseUpdate:
    """A write of all attributes of the lease, and of no other."""

    expression: str
    names: dict[str, str]
    values: Values


def lease_update(lease: Lease) -> LeaseUpdate:
    """The expression without a condition; `#pk` is among the names only if the condition needs it."""
    attributes = lease_attributes(lease)
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in attributes)
    if "handoverAt" not in attributes:
        expression += " REMOVE #handoverAt"
    return LeaseUpdate(
        expression, _names(*ATTRIBUTES), {f":{name}": _typed(value) for name, value in attributes.items()}
    )


def read_item(item: Mapping[str, AttributeValueTypeDef]) -> Lease:
    """Raises MalformedLease."""
    return read_lease({name: _untyped(item[name]) for name in ATTRIBUTES if name in item})


def _names(*names: str) -> dict[str, str]:
    # Placeholders for all of them: DynamoDB reserves some 570 words, and more may come.
    return {f"#{name}": name for name in names}


def _typed(value: str | Decimal) -> UniversalAttributeValueTypeDef:
    return {"S": value} if isinstance(value, str) else {"N": str(value)}


def _untyped(value: AttributeValueTypeDef) -> object:
    if "S" in value:
        return value["S"]
    if "N" in value:
        return Decimal(value["N"])
    return value


_CONDITION_FAILED = "ConditionalCheckFailedException"

# The remedy for each error; other errors keep DynamoDB's own message.
_REMEDIES = {
    "ResourceNotFoundException": "the table does not exist; deploy the stack, or set BERTH_CACHE_TABLE to its table",
    "AccessDeniedException": "the function's role lacks a permission on the table",
    "ProvisionedThroughputExceededException": "the table is throttled",
    "ThrottlingException": "the table is throttled",
    "TransactionConflictException": "a transaction holds the head item; nothing of Berth makes one",
    "UnrecognizedClientException": "the AWS credentials are not valid",
    "ExpiredTokenException": "the AWS credentials have expired",
}


def _random_id() -> str:
    return uuid4().hex


class DynamoDBLeaseLock(LeaseLock):
    """Stateless; the client may be shared between threads."""

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        new_id: Callable[[], str] = _random_id,
        key: dict[str, UniversalAttributeValueTypeDef] = HEAD_KEY,
    ) -> None:
        self._client = client
        self._table = table_name
        self._new_id = new_id
        self._key = key

    def get(self) -> Lease | Unavailable | None:
        try:
            answer = self._client.get_item(TableName=self._table, Key=self._key, ConsistentRead=True)
        except (ClientError, BotoCoreError) as error:
            return self._unavailable(error)
        item = answer.get("Item")
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
        values: dict[str, UniversalAttributeValueTypeDef],
    ) -> Written | Conflict | Unavailable:
        update = lease_update(lease)
        try:
            self._client.update_item(
                TableName=self._table,
                Key=self._key,
                ConditionExpression=condition,
                UpdateExpression=update.expression,
                ExpressionAttributeNames=update.names | names,
                ExpressionAttributeValues=update.values | values,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == _CONDITION_FAILED:
                return self._refused(lease.nonce, error)
            return self._unavailable(error)
        except BotoCoreError as error:
            return self._unavailable(error)
        return Written(as_stored(lease))

    def _refused(self, nonce: str, error: ClientError) -> Written | Conflict | Unavailable:
        item = cast("Mapping[str, AttributeValueTypeDef] | None", error.response.get("Item"))
        if item is None:
            return Conflict(None)
        current = self._read(item)
        if isinstance(current, Unavailable):
            return current
        # Mine: committed by an attempt whose answer was lost, before the client tried again by itself.
        return Written(current) if current.nonce == nonce else Conflict(current)

    def _read(self, item: Mapping[str, AttributeValueTypeDef]) -> Lease | Unavailable:
        try:
            return read_item(item)
        except MalformedLease as error:
            return Unavailable(f"node cache table {self._table}: {error}")

    def _unavailable(self, error: ClientError | BotoCoreError) -> Unavailable:
        code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
        return Unavailable(f"node cache table {self._table}: {_REMEDIES.get(code, str(error))} ({code})")
