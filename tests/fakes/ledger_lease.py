"""The Lease of the ledger and the identities of stores, in memory."""

from __future__ import annotations

from dataclasses import replace

from berth.lease.lock import NO_RECORD, Conflict, Lease, LeaseSpec, Unavailable, Written
from berth.ledger.lease import Holding, LedgerLease, StoreIdentity


class LeaseInMemory(LedgerLease):
    """A Lease in memory. `stored`: None while there is no Lease. `unavailable`: the answer of every call if set."""

    def __init__(self, *, exists: bool = True) -> None:
        self.stored: Lease | None = replace(NO_RECORD, resource_version=1, uid="lease-1") if exists else None
        self.counting_transition: int | None = None
        self.unavailable = ""

    def get(self) -> Lease | Unavailable | None:
        return Unavailable(self.unavailable) if self.unavailable else self.stored

    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        if self.unavailable:
            return Unavailable(self.unavailable)
        if self.stored is not None:
            return Conflict(None)
        self.stored = Lease(spec, 1, "lease-1", "")
        return Written(self.stored)

    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        return self._write(seen, spec)

    def mark_counting(self, seen: Lease) -> Written | Conflict | Unavailable:
        written = self._write(seen, seen.spec)
        if isinstance(written, Written):
            self.counting_transition = seen.spec.lease_transitions
        return written

    def holding(self, timeout: float) -> Holding | Unavailable | None:
        found = self.get()
        if not isinstance(found, Lease):
            return found
        return Holding(found.spec.holder_identity, self.counting_transition == found.spec.lease_transitions)

    def delete(self) -> None:
        self.stored, self.counting_transition = None, None

    def _write(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        if self.unavailable:
            return Unavailable(self.unavailable)
        stored = self.stored
        if stored is None or (stored.uid, stored.resource_version) != (seen.uid, seen.resource_version):
            return Conflict(None)
        self.stored = Lease(spec, stored.resource_version + 1, stored.uid, "")
        return Written(self.stored)


class IdentityInMemory(StoreIdentity):
    def __init__(self, identity: str | None = None) -> None:
        self.identity = identity

    def get(self) -> str | None:
        return self.identity

    def put_if_absent(self, identity: str) -> bool:
        is_absent = self.identity is None
        if is_absent:
            self.identity = identity
        return is_absent

    def lose(self) -> None:
        self.identity = None
