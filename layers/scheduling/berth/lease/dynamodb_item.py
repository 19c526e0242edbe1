"""The lease's attributes of the head item, and the fenced update that publishes and renews in one write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from berth.lease.record import ATTRIBUTES, Fence, Lease, lease_attributes, micro_time, read_lease

if TYPE_CHECKING:
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
