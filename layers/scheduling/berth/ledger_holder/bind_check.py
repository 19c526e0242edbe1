"""Whether bind may reserve: its store holds the Lease of the ledger and has finished its takeover.

bind asks after it has read the pod and before it reserves. A store that takes over later invalidates the Bindings of
all pods that were read before, so nothing has to be asked again before the Binding is sent.
"""

from __future__ import annotations

from berth.dynamodb_errors import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import CountingRight
from berth.lease.lock import Unavailable
from berth.ledger_holder.lease import NAME, NAMESPACE, Holding, LedgerLease, counted_elsewhere
from berth.ledger_holder.store_identity import StoreIdentity

NOT_HELD = BindResult(
    BindOutcome.NO_LEDGER, f"no watcher has acquired the Lease {NAMESPACE}/{NAME} for the ledger of counted resources"
)
TAKEOVER = BindResult(BindOutcome.NO_LEDGER, "the ledger of counted resources is rebuilt after another server's")


class LedgerHolderCheck(CountingRight):
    """For one warm environment. Safe to share between threads."""

    def __init__(self, lease: LedgerLease, store: StoreIdentity) -> None:
        self._lease = lease
        self._store = store
        self._identity: str | None = None

    def refusal(self, timeout: float) -> BindResult | None:
        found = self._lease.holding(timeout)
        if isinstance(found, Unavailable):
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, found.reason)
        if found is None:
            return NOT_HELD
        try:
            return self._refusal(found)
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))

    def _refusal(self, found: Holding) -> BindResult | None:
        if not found.holder:
            # Without an identity: the watcher is still of a release that does not know the Lease, for up to 15 minutes
            # of an upgrade.
            return None if self._store.get() is None else NOT_HELD
        if not self._is_own(found.holder):
            return BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere(found.holder))
        return None if found.is_counting else TAKEOVER

    def _is_own(self, holder: str) -> bool:
        """The identity is read again where it differs: a lost table gets another one."""
        if holder != self._identity:
            self._identity = self._store.get()
        return holder == self._identity
