"""The end of a term: the record is made nobody's, so that whoever waits takes over at once."""

from __future__ import annotations

from berth.lease.candidate import Candidate, ObservedRecord
from berth.lease.clock import Clock
from berth.lease.lock import Conflict, LeaseLock, Unavailable, Written
from berth.lease.outcomes import ReleaseOutcome
from berth.lease.record import RELEASED_DURATION_SECONDS, LeaseSpec


def release(lock: LeaseLock, candidate: Candidate, observed: ObservedRecord, clock: Clock) -> ReleaseOutcome:
    """A get, and an update if the record names this candidate."""
    found = lock.get()
    if isinstance(found, Unavailable):
        return ReleaseOutcome.UNKNOWN
    # The holder that was fetched and not the one remembered: a successor may have taken over during a pause.
    if found is None or found.spec.holder_identity != candidate.identity:
        return ReleaseOutcome.NOT_HELD
    now = clock.wall()
    blank = LeaseSpec("", RELEASED_DURATION_SECONDS, now, now, found.spec.lease_transitions)
    match lock.update(found, blank):
        case Written(lease):
            observed.saw(lease)
            return ReleaseOutcome.RELEASED
        case Conflict(_) | Unavailable(_):
            return ReleaseOutcome.UNKNOWN
