"""The stores that the lock runs on, behind one interface: the attributes of the item, and locks with planned faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import count
from typing import TypeVar

from berth.lease.lock import Conflict, Fence, Lease, LeaseLock, LeaseSpec, Unavailable, Written
from berth_cli.server.store.lease_lock import ConditionFailed, InMemoryItem, InMemoryLeaseLock, publish

from .clocks import AT
from .faults import Fault, Faults

Attributes = dict[str, object]
Outcome = Written | Conflict | Unavailable
Answer = TypeVar("Answer")


def stored_lease(
    holder: str,
    *,
    lease_duration_seconds: int = 15,
    lease_transitions: int = 0,
    acquire_time: float = AT,
    renew_time: float = AT,
    resource_version: int = 1,
    uid: str = "uid-1",
    handover_at: float | None = None,
) -> Attributes:
    """Return the attributes of a record that another program has written."""
    attributes: Attributes = {
        "holderIdentity": holder,
        "leaseDurationSeconds": Decimal(lease_duration_seconds),
        "acquireTime": Decimal(acquire_time),
        "renewTime": Decimal(renew_time),
        "leaseTransitions": Decimal(lease_transitions),
        "resourceVersion": Decimal(resource_version),
        "uid": uid,
        "nonce": "another's",
    }
    return attributes if handover_at is None else {**attributes, "handoverAt": Decimal(handover_at)}


class ObservedLock(LeaseLock):
    """Records every call, and runs planned actions, such as another candidate's step, just before or after a call."""

    def __init__(self, lock: LeaseLock, faults: Faults) -> None:
        self._lock = lock
        self._actions: list[tuple[str, Callable[[], object]]] = []
        self.faults = faults
        self.calls: list[str] = []

    def before_next(self, call: str, action: Callable[[], object]) -> None:
        """Run the action once, before the next call of this name reaches the store."""
        self._actions.append((f"before {call}", action))

    def after_next(self, call: str, action: Callable[[], object]) -> None:
        """Run the action once, after the next call of this name has reached the store and before it returns."""
        self._actions.append((f"after {call}", action))

    def forget(self) -> None:
        """Drop the planned actions of calls that were not made."""
        self._actions.clear()

    def get(self) -> Lease | Unavailable | None:
        return self._noted("get", self._lock.get)

    def create(self, spec: LeaseSpec) -> Outcome:
        return self._noted("create", lambda: self._lock.create(spec))

    def update(self, seen: Lease, spec: LeaseSpec) -> Outcome:
        return self._noted("update", lambda: self._lock.update(seen, spec))

    def _noted(self, name: str, call: Callable[[], Answer]) -> Answer:
        self.calls.append(name)
        self._happen(f"before {name}")
        answer = call()
        self._happen(f"after {name}")
        return answer

    def _happen(self, when: str) -> None:
        due = [action for planned, action in self._actions if planned == when]
        self._actions = [planned for planned in self._actions if planned[0] != when]
        for action in due:
            action()


class LeaseStore(ABC):
    """A store of one head item and of the node cache's log."""

    @abstractmethod
    def lock(self) -> ObservedLock:
        """Return a lock with faults of its own."""

    @abstractmethod
    def attributes(self) -> Attributes:
        """Return the attributes of the item; numbers are Decimal. Empty if there is no item."""

    @abstractmethod
    def put(self, attributes: Mapping[str, object]) -> None:
        """Replace the item."""

    @abstractmethod
    def delete(self) -> None:
        """Remove the item."""

    @abstractmethod
    def publish(self, fence: Fence, attributes: Mapping[str, object], *, renew_time: float) -> bool:
        """Publish as the node cache's writer does at the end of a flush; return whether the store accepted it."""

    def __getitem__(self, name: str) -> object:
        return self.attributes()[name]


class InMemoryStore(LeaseStore):
    """Stores the item in memory, for simulation. Faults are injected into the lock, because there is no network."""

    def __init__(self) -> None:
        self.item = InMemoryItem()
        numbers = count(1)
        self._new_id = lambda: f"id-{next(numbers)}"

    def lock(self) -> ObservedLock:
        faults = Faults()
        return ObservedLock(_FaultyLock(InMemoryLeaseLock(self.item, self._new_id), faults), faults)

    def attributes(self) -> Attributes:
        return dict(self.item.get() or {})

    def put(self, attributes: Mapping[str, object]) -> None:
        self.item.delete()
        self.item.update(lambda _: True, attributes)

    def delete(self) -> None:
        self.item.delete()

    def publish(self, fence: Fence, attributes: Mapping[str, object], *, renew_time: float) -> bool:
        try:
            publish(self.item, fence, attributes, renew_time=renew_time, nonce="publication")
        except ConditionFailed:
            return False
        return True


class _FaultyLock(LeaseLock):
    def __init__(self, lock: LeaseLock, faults: Faults) -> None:
        self._lock = lock
        self._faults = faults

    def get(self) -> Lease | Unavailable | None:
        fault = self._faults.take()
        return self._lock.get() if fault is None else Unavailable(fault)

    def create(self, spec: LeaseSpec) -> Outcome:
        return self._write(lambda: self._lock.create(spec))

    def update(self, seen: Lease, spec: LeaseSpec) -> Outcome:
        return self._write(lambda: self._lock.update(seen, spec))

    def _write(self, write: Callable[[], Outcome]) -> Outcome:
        fault = self._faults.take()
        match fault:
            case None:
                return write()
            case Fault.LOST:
                write()
            case Fault.DELAYED:
                self._faults.hold_back(write)
        return Unavailable(fault)
