"""The lease: the fields of coordination.k8s.io/v1 LeaseSpec, their preconditions, and the port to the stored item.

The item uses the Kubernetes names of the fields. Times are seconds since the epoch, to the microsecond (MicroTime).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

RELEASED_DURATION_SECONDS = 1
"""The leaseDurationSeconds that is written on release; the API rejects 0."""

_MICROSECOND = Decimal("0.000001")
_REQUIRED = (
    "holderIdentity",
    "leaseDurationSeconds",
    "acquireTime",
    "renewTime",
    "leaseTransitions",
    "resourceVersion",
    "uid",
)
ATTRIBUTES = (*_REQUIRED, "nonce", "handoverAt")
"""The attributes that a lock writes. All other attributes of the item belong to the node cache."""


class MalformedLease(Exception):
    """An attribute of the item is malformed; the message has the attribute and the remedy."""


@dataclass(frozen=True, slots=True)
class LeaseSpec:
    """The fields of a lease. `holder_identity`: empty if the lease is free. `lease_transitions`: the fencing epoch.
    `handover_at`: the time of the holder's planned release by its wall clock; a hint for candidates."""

    holder_identity: str
    lease_duration_seconds: int
    acquire_time: float
    renew_time: float
    lease_transitions: int
    handover_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A stored spec. `resource_version`: grows by one with every write. `uid`: identifies the item. `nonce`: identifies
    the last write, and is the same in its retries. An item that was never a lease has version 0 and an empty uid."""

    spec: LeaseSpec
    resource_version: int
    uid: str
    nonce: str


NO_RECORD = Lease(LeaseSpec("", RELEASED_DURATION_SECONDS, 0.0, 0.0, 0), 0, "", "")
"""The lease in an item without the lease's attributes: free, in epoch 0."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The precondition of a publication: this holder in this epoch, and the item's version that it last read. A
    publication sets renewTime, and sets resourceVersion to `next_resource_version`."""

    holder_identity: str
    lease_transitions: int
    uid: str
    resource_version: int

    @property
    def next_resource_version(self) -> int:
        return self.resource_version + 1


def lease_attributes(lease: Lease) -> dict[str, str | Decimal]:
    """Return the attributes as they are stored; `handoverAt` only if it is set."""
    spec = lease.spec
    attributes: dict[str, str | Decimal] = {
        "holderIdentity": spec.holder_identity,
        "leaseDurationSeconds": Decimal(spec.lease_duration_seconds),
        "acquireTime": micro_time(spec.acquire_time),
        "renewTime": micro_time(spec.renew_time),
        "leaseTransitions": Decimal(spec.lease_transitions),
        "resourceVersion": Decimal(lease.resource_version),
        "uid": lease.uid,
        "nonce": lease.nonce,
    }
    if spec.handover_at is not None:
        attributes["handoverAt"] = micro_time(spec.handover_at)
    return attributes


def read_lease(item: Mapping[str, object]) -> Lease:
    """Read the lease of an item with decoded strings and numbers. Raises MalformedLease."""
    if not any(name in item for name in _REQUIRED):
        return NO_RECORD
    spec = LeaseSpec(
        holder_identity=_text(item, "holderIdentity"),
        lease_duration_seconds=_whole(item, "leaseDurationSeconds", at_least=1),
        acquire_time=float(_number(item, "acquireTime")),
        renew_time=float(_number(item, "renewTime")),
        lease_transitions=_whole(item, "leaseTransitions", at_least=0),
        handover_at=float(_number(item, "handoverAt")) if "handoverAt" in item else None,
    )
    uid = _text(item, "uid")
    if not uid:
        raise _malformed("uid", uid, "a name")
    return Lease(
        spec,
        resource_version=_whole(item, "resourceVersion", at_least=1),
        uid=uid,
        nonce=_text(item, "nonce") if "nonce" in item else "",
    )


def as_stored(lease: Lease) -> Lease:
    """Return the lease as the next reader gets it: times are rounded to microseconds."""
    return read_lease(lease_attributes(lease))


def micro_time(seconds: float) -> Decimal:
    return Decimal(seconds).quantize(_MICROSECOND)


def _text(item: Mapping[str, object], name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise _malformed(name, value, "a string")
    return value


def _number(item: Mapping[str, object], name: str) -> Decimal:
    value = item.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not Decimal(value).is_finite():
        raise _malformed(name, value, "a number")
    return Decimal(value)


def _whole(item: Mapping[str, object], name: str, *, at_least: int) -> int:
    number = _number(item, name)
    if number != number.to_integral_value() or number < at_least:
        raise _malformed(name, number, f"a whole number of at least {at_least}")
    return int(number)


def _malformed(name: str, value: object, wanted: str) -> MalformedLease:
    found = "is missing" if value is None else f"is {value!s}"
    return MalformedLease(
        f"the head item's {name} {found}, not {wanted}: something other than Berth wrote it; "
        "stop that, delete the item, and the next watcher builds the cache anew"
    )


@dataclass(frozen=True, slots=True)
class Written:
    """The write succeeded; `lease` is the item's latest version."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Conflict:
    """The write failed, because the item has changed to `current` (None: the item does not exist)."""

    current: Lease | None


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The store did not give a usable answer. `reason`: the cause and a remedy. A write may be committed, now or
    later."""

    reason: str


class LeaseLock(ABC):
    """The lock: one item. Of writers that read the same version, at most one succeeds. Writes keep the item's other
    attributes. The item is never deleted, because the epoch must not restart. Methods return the store's errors as
    values. Thread-safe."""

    @abstractmethod
    def get(self) -> Lease | Unavailable | None:
        """Return the current lease, with a consistent read of one read unit. None: the item does not exist."""

    @abstractmethod
    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        """Create the item at version 1 with a new uid, if it does not exist. Makes one conditional write."""

    @abstractmethod
    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        """Write `spec` if the item still has the uid and the version of `seen`, with one conditional write. It costs a
        write unit per KB of the whole item, even if only a part changes or the condition fails."""
