"""The leader: one term, its renewals, and its fence for publications."""

from __future__ import annotations

from berth.lease.candidate import Candidate, ObservedRecord
from berth.lease.clock import Clock, Instant
from berth.lease.lock import Conflict, LeaseLock, Unavailable, Written
from berth.lease.outcomes import ElectionOutcome, Step
from berth.lease.record import Fence, Lease, LeaseSpec
from berth.lease.validity import Term


class Leadership:
    """From the write that acquired the lease to the read that shows another holder, or to the renew deadline.

    Unlike client-go's leader, this one does not become a candidate again when the record is gone, blank or another's:
    its knowledge of the published state belongs to its epoch.
    """

    def __init__(
        self, lock: LeaseLock, candidate: Candidate, observed: ObservedRecord, clock: Clock, term: Term
    ) -> None:
        self._lock = lock
        self._candidate = candidate
        self._config = candidate.config
        self._observed = observed
        self._clock = clock
        self._term = term
        self._must_read = False  # the record has changed since it was read: read it before writing

    def fence(self) -> Fence | None:
        """None if the lease has expired by this process's clocks, or if a publication was refused since."""
        return None if self._must_read or not self._is_valid(self._clock.now()) else self._term.fence

    def published(self, fence: Fence, at: Instant) -> bool:
        """Count a publication as a renewal. False: the fence is outdated, and nothing changes."""
        if fence != self._term.fence:
            return False
        self._term = self._term.published(at)
        return True

    def require_read(self, fence: Fence) -> bool:
        """Read the record before the next write. False: the fence is outdated, and nothing changes."""
        if fence != self._term.fence:
            return False
        self._must_read = True
        return True

    def renew(self) -> Step:
        """One update; if that fails, a get and an update."""
        now = self._clock.now()
        if not self._must_read and self._is_valid(now):
            written = self._lock.update(self._term.lease, self._renewed_spec(now))
            if isinstance(written, Written):
                return self._renewed(written.lease, now)
            self._must_read = isinstance(written, Conflict)
        found = self._lock.get()
        if isinstance(found, Unavailable):
            return self._failed(found.reason)
        if found is None or not self._term.is_continued_by(found):
            return self._deposed(found)
        now = self._clock.now()
        # Even if it has expired: no one has acquired it, so the term continues in its epoch.
        written = self._lock.update(found, self._renewed_spec(now))
        match written:
            case Written(lease):
                return self._renewed(lease, now)
            case Conflict(_):
                return self._failed("the record changed between the read and the write")
            case Unavailable(reason):
                return self._failed(reason)

    def _renewed(self, lease: Lease, sent: Instant) -> Step:
        self._term = Term(lease, sent)
        self._must_read = False
        self._observed.observe(lease)
        return Step(ElectionOutcome.RENEWED, self._config.retry_period)

    def _failed(self, reason: str) -> Step:
        left = self._config.renew_deadline - self._clock.now().longest_since(self._term.renewed_at)
        if not self._config.leader_elect:
            return Step(ElectionOutcome.RENEWAL_FAILED, self._config.retry_period, reason)
        if left <= 0:
            return Step(ElectionOutcome.RENEW_DEADLINE_EXCEEDED, detail=reason, ended=True)
        return Step(ElectionOutcome.RENEWAL_FAILED, min(self._config.retry_period, left), reason)

    def _deposed(self, found: Lease | None) -> Step:
        if found is None:
            return Step(ElectionOutcome.DEPOSED, detail="the head item is gone", ended=True)
        self._observed.observe(found)
        holder, epoch = found.spec.holder_identity or "no candidate", found.spec.lease_transitions
        return Step(ElectionOutcome.DEPOSED, detail=f"{holder} holds item {found.uid} in epoch {epoch}", ended=True)

    def _is_valid(self, now: Instant) -> bool:
        return self._term.is_valid(now) or not self._config.leader_elect

    def _renewed_spec(self, now: Instant) -> LeaseSpec:
        spec = self._term.lease.spec
        return self._candidate.spec(now, spec.lease_transitions, spec.acquire_time)
