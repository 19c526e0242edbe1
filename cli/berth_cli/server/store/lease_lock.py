"""An item in memory, and a lease lock on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from threading import Lock

from berth.lease.lock import (
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

Item = Mapping[str, object]
Condition = Callable[[Item | None], bool]


class ConditionFailed(Exception):
    """The item does not meet the condition. `item`: the current item; None if it does not exist."""

    def __init__(self, item: Item | None) -> None:
        super().__init__("the item does not meet the condition")
        self.item = item


class InMemoryItem:
    """An item of a table, shared by all its writers. Each call is atomic."""

    def __init__(self, attributes: Item | None = None) -> None:
        self._attributes = None if attributes is None else dict(attributes)
        self._lock = Lock()

    def get(self) -> Item | None:
        """Return a copy of the attributes; None if there is no item."""
        with self._lock:
            return self._copy()

    def update(self, condition: Condition, put: Item, remove: Collection[str] = ()) -> None:
        """Set and remove attributes; create the item if it does not exist. Raises ConditionFailed."""
        with self._lock:
            item = self._copy()
            if not condition(item):
                raise ConditionFailed(item)
            kept = {name: value for name, value in (item or {}).items() if name not in remove}
            self._attributes = kept | dict(put)

    def delete(self) -> None:
        """Delete the item, as an operator may do; Berth never does."""
        with self._lock:
            self._attributes = None

    def _copy(self) -> Item | None:
        return None if self._attributes is None else dict(self._attributes)


class InMemoryLeaseLock(LeaseLock):
    """A lease in memory. Thread-safe. It is unavailable only if the item is malformed."""

    def __init__(self, item: InMemoryItem, new_id: Callable[[], str]) -> None:
        self._item = item
        self._new_id = new_id

    def get(self) -> Lease | Unavailable | None:
        item = self._item.get()
        return None if item is None else _read(item)

    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        lease = Lease(spec, resource_version=1, uid=self._new_id(), nonce=self._new_id())
        return self._write(lease, lambda item: item is None)

    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        lease = Lease(spec, seen.resource_version + 1, uid=seen.uid or self._new_id(), nonce=self._new_id())
        return self._write(lease, _unchanged_since(seen))

    def _write(self, lease: Lease, condition: Condition) -> Written | Conflict | Unavailable:
        attributes = lease_attributes(lease)
        try:
            self._item.update(condition, attributes, remove=() if "handoverAt" in attributes else {"handoverAt"})
        except ConditionFailed as failed:
            if failed.item is None:
                return Conflict(None)
            current = _read(failed.item)
            return current if isinstance(current, Unavailable) else Conflict(current)
        return Written(as_stored(lease))


def publish(item: InMemoryItem, fence: Fence, put: Item, *, renew_time: float, nonce: str) -> None:
    """If the fence still holds, write the attributes and renew the lease, as a writer of the node cache does. Raises
    ConditionFailed."""
    fenced = {
        "holderIdentity": fence.holder_identity,
        "leaseTransitions": fence.lease_transitions,
        "resourceVersion": fence.resource_version,
        "uid": fence.uid,
    }
    item.update(
        lambda found: found is not None and all(found.get(name) == value for name, value in fenced.items()),
        {
            **put,
            "resourceVersion": Decimal(fence.next_resource_version),
            "renewTime": micro_time(renew_time),
            "nonce": nonce,
        },
    )


def _unchanged_since(seen: Lease) -> Condition:
    expected = (seen.resource_version, seen.uid) if seen.uid else (None, None)
    return lambda item: item is not None and (item.get("resourceVersion"), item.get("uid")) == expected


def _read(item: Item) -> Lease | Unavailable:
    try:
        return read_lease(item)
    except MalformedLease as error:
        return Unavailable(str(error))
