"""Leader election with a lease in one DynamoDB item, and the loop that runs it.

Guarantees:
- At most one elector holds a fence that the table accepts. The fence contains holder, epoch (leaseTransitions), uid and
  resourceVersion of the record, and each leadership has an epoch of its own.
- An elector does not return a fence after its lease has expired by its own clocks.
- A publication under the fence renews the lease.
- Two clocks are read, monotonic and wall. Each rule uses the clock that is on the safe side (see clock).

Not guaranteed:
- That a leader exists. After a crash the next candidate waits until the lease has expired.
- That a deposed leader detects this immediately. Its requests are rejected by the condition on the fence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from uuid import uuid4

from berth.lease.candidate import Acquired, Acquisition, Candidate, ObservedRecord, Term
from berth.lease.clock import Clock, Instant
from berth.lease.config import (
    BecameLeader,
    ElectionOutcome,
    Handover,
    LeaderCallbacks,
    LeaderElectionConfig,
    ReleaseOutcome,
    Step,
)
from berth.lease.lock import (
    RELEASED_DURATION_SECONDS,
    Conflict,
    Fence,
    Lease,
    LeaseLock,
    LeaseSpec,
    Unavailable,
    Written,
)


class Leadership:
    """One leadership: from the write that acquired the lease until a read shows another holder, or the renew deadline.

    Unlike client-go's leader, it does not become a candidate again if the record is gone, empty or another holder's:
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
        """Return the fence; None if the lease has expired by this process's clocks, or a publication was rejected since
        the record was read."""
        return None if self._must_read or not self._term.is_valid(self._clock.now()) else self._term.fence

    def published(self, fence: Fence, at: Instant) -> bool:
        """Count a publication as a renewal. Return False, without a change, if the fence is outdated."""
        if fence != self._term.fence:
            return False
        self._term = self._term.published(at)
        return True

    def require_read(self, fence: Fence) -> bool:
        """Require a read of the record before the next write. Return False, without change, if `fence` is outdated."""
        if fence != self._term.fence:
            return False
        self._must_read = True
        return True

    def renew(self) -> Step:
        """Renew the lease with one update; if it fails, with a get and an update."""
        now = self._clock.now()
        if not self._must_read and self._term.is_valid(now):
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
        # Renew even an expired lease: it was not acquired by another, so the term continues in its epoch.
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
        if left <= 0:
            return Step(ElectionOutcome.RENEW_DEADLINE_EXCEEDED, detail=reason, ended=True)
        return Step(ElectionOutcome.RENEWAL_FAILED, min(self._config.retry_period, left), reason)

    def _deposed(self, found: Lease | None) -> Step:
        if found is None:
            return Step(ElectionOutcome.DEPOSED, detail="the head item is gone", ended=True)
        self._observed.observe(found)
        holder, epoch = found.spec.holder_identity or "no candidate", found.spec.lease_transitions
        return Step(ElectionOutcome.DEPOSED, detail=f"{holder} holds item {found.uid} in epoch {epoch}", ended=True)

    def _renewed_spec(self, now: Instant) -> LeaseSpec:
        spec = self._term.lease.spec
        return self._candidate.spec(now, spec.lease_transitions, spec.acquire_time)


def release(lock: LeaseLock, candidate: Candidate, observed: ObservedRecord, clock: Clock) -> ReleaseOutcome:
    """Release the lease: a get, and an update if this candidate is the record's holder."""
    found = lock.get()
    if isinstance(found, Unavailable):
        return ReleaseOutcome.UNKNOWN
    # The holder of the record as read now: a successor may have acquired it during a pause.
    if found is None or found.spec.holder_identity != candidate.identity:
        return ReleaseOutcome.NOT_HELD
    now = clock.wall()
    blank = LeaseSpec("", RELEASED_DURATION_SECONDS, now, now, found.spec.lease_transitions)
    match lock.update(found, blank):
        case Written(lease):
            observed.observe(lease)
            return ReleaseOutcome.RELEASED
        case Conflict(_) | Unavailable(_):
            return ReleaseOutcome.UNKNOWN


_TOLERANCE_SECONDS = 0.001  # sums of floats are not exact


def _no_floor() -> int:
    return 0


class LeaderElector:
    """`random` gives numbers in [0, 1), for the jitter."""

    def __init__(
        self,
        lock: LeaseLock,
        config: LeaderElectionConfig,
        identity: str,
        clock: Clock,
        random: Callable[[], float],
        callbacks: LeaderCallbacks | None = None,
        handover: Handover | None = None,
        epoch_floor: Callable[[], int] = _no_floor,
    ) -> None:
        """epoch_floor: the minimum epoch (leaseTransitions) of a new term. A recreated head item restarts at 0, but
        stores that outlive it and are fenced by epoch need an epoch greater than any earlier one."""
        self._lock = lock
        self._clock = clock
        self._callbacks = callbacks or LeaderCallbacks()
        self._candidate = Candidate(identity, config, handover or Handover())
        self._observed = ObservedRecord(clock, self._callbacks.new_leader)
        self._acquisition = Acquisition(lock, self._candidate, self._observed, clock, random, epoch_floor)
        self._leadership: Leadership | None = None
        self._ending: Step | None = None
        self._released: ReleaseOutcome | None = None
        self._started = clock.now()
        self._due = (self._started, 0.0)

    @property
    def identity(self) -> str:
        return self._candidate.identity

    @property
    def leader(self) -> str:
        """Return the holder of the record as last read; empty without one. For information only."""
        return self._observed.holder

    @property
    def handover_in(self) -> float:
        """Return the seconds until this leader's announced release; infinite if it does not lead or announce one."""
        if self._leadership is None or self._candidate.handover.at is None:
            return math.inf
        return max(0.0, self._candidate.handover.at - self._clock.wall())

    def step(self) -> Step:
        """Take the step that is due: a candidate reads and writes; a leader updates, and if that fails, reads and
        updates again."""
        if self._ending is not None:
            return self._ending
        since, delay = self._due
        early = delay - self._clock.now().longest_since(since)
        if early > _TOLERANCE_SECONDS:
            return Step(ElectionOutcome.IDLE, early)
        step = self._acquire() if self._leadership is None else self._leadership.renew()
        self._due = (self._clock.now(), step.again_in)
        if step.ended:
            self._end(step)
        self._observed.report()
        return step

    def fence(self) -> Fence | None:
        """Return the fence for a publication that is sent now. None: do not publish before the next step."""
        return None if self._leadership is None else self._leadership.fence()

    def keep(self) -> bool:
        """Take the step that is due, during a leader's long work. False: it no longer leads, or must release.

        Without this call, the lease is not renewed while `run`'s `wait` works.
        """
        self.step()
        return self.fence() is not None and self.handover_in > 0

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """Report a written publication under `fence`; `at`: a time before it was sent. Return the next fence.

        It renews the lease: the next renewal is due a retryPeriod later. An outdated fence is ignored.
        """
        if self._leadership is not None and self._leadership.published(fence, at):
            self._due = (at, self._candidate.config.retry_period)
        return self.fence()

    def refused(self, fence: Fence) -> None:
        """Report a rejected publication under `fence`. `fence` is None until the next step, which is due immediately,
        has read the record."""
        if self._leadership is not None and self._leadership.require_read(fence):
            self._due = (self._clock.now(), 0.0)

    def release(self) -> ReleaseOutcome:
        """Stop, and clear the holder if it is still this candidate: a get and an update.

        Without a sent claim it does not make requests. Valid after the elector has ended, and again after UNKNOWN.
        """
        if self._ending is None:
            self._end(Step(ElectionOutcome.RELEASED, ended=True))
        if not self._acquisition.claimed:
            return ReleaseOutcome.NOT_HELD
        if self._released in (None, ReleaseOutcome.UNKNOWN):
            self._released = release(self._lock, self._candidate, self._observed, self._clock)
            self._observed.report()
        return self._released

    def _acquire(self) -> Step:
        acquired = self._acquisition.attempt()
        if isinstance(acquired, Step):
            return acquired
        became = self._lead(acquired)
        return Step(ElectionOutcome.BECAME_LEADER, self._candidate.config.retry_period, str(became))

    def _lead(self, acquired: Acquired) -> BecameLeader:
        self._leadership = Leadership(self._lock, self._candidate, self._observed, self._clock, acquired.term)
        self._observed.report()
        waited = acquired.term.renewed_at.longest_since(self._started)
        epoch = acquired.term.fence.lease_transitions
        became = BecameLeader(self.identity, epoch, acquired.previous, waited)
        self._callbacks.started_leading(became)
        return became

    def _end(self, ending: Step) -> None:
        led, self._leadership = self._leadership is not None, None
        self._ending = ending
        if led:
            self._callbacks.stopped_leading(ending.outcome)


_RELEASES = 2


def new_identity(name: str) -> str:
    """Return a unique identity for one candidate: `name` and a UUID. Call it in the handler."""
    return f"{name}_{uuid4()}"


def run(elector: LeaderElector, wait: Callable[[float], bool]) -> Step:
    """Step until the elector ends, the announced handover is due, or `wait` returns True. Then release the lease.

    `wait(seconds)` returns within that time. The leader works in `wait`: it reads the fence, publishes, and reports
    `renewed`. `wait` may return early: a step that is not due does not make requests. Returns the last step.
    """
    try:
        while True:
            step = elector.step()
            if step.ended or elector.handover_in <= 0 or wait(min(step.again_in, elector.handover_in)):
                break
    finally:
        for _ in range(_RELEASES):
            if elector.release() is not ReleaseOutcome.UNKNOWN:
                break
    return elector.step()


class Standby:
    """Limits the number of waiting candidates to one, by a second lease; for one thread.

    The schedule starts a candidate every minute, and each would wait for the same event. The second lease does not
    protect data: two candidates that wait at the same time only cost money.
    """

    def __init__(self, elector: LeaderElector) -> None:
        """`elector`: a candidate for the standby lease, not for the head."""
        self._elector = elector
        self._is_held = False
        self._was_held = False

    def acquire(self, sleep: Callable[[float], None], stopped: Callable[[], bool]) -> bool:
        """Try to acquire the standby lease, and return whether this candidate holds it.

        Makes one read. If the holder crashed or is about to release, it takes up to the duration of the lease.
        """
        while not stopped():
            step = self._elector.step()
            self._note(step)
            if self._is_held or step.ended:
                break
            sleep(step.again_in)
        return self._is_held

    def may_wait(self) -> bool:
        """Return whether this candidate may wait, because it seems to be the only one. Call it every two seconds.

        The first call tries to acquire the lease: one read, and one write if the lease is free. A candidate that has
        held the lease waits to the end, even if it loses the lease.
        """
        if self._was_held:
            self.renew()
            return True
        step = self._elector.step()
        self._note(step)
        return not step.ended

    def _note(self, step: Step) -> None:
        self._is_held = step.outcome is ElectionOutcome.BECAME_LEADER
        self._was_held |= self._is_held

    def renew(self) -> bool:
        """Renew the lease when a renewal is due; call it every two seconds. False: the lease is lost or released."""
        if self._is_held:
            step: Step = self._elector.step()
            self._is_held = not step.ended
        return self._is_held

    def release(self) -> ReleaseOutcome:
        """Release the lease, so that the next candidate can acquire it."""
        self._is_held = False
        return self._elector.release()
