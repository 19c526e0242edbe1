"""Leader election with a lease in one DynamoDB item, and the loop that runs it.

Guarantees:
- At most one elector holds a fence that the table accepts. The fence contains the record's holder, epoch
  (leaseTransitions), uid and resourceVersion. Each leadership has its own epoch.
- An elector does not return a fence after its lease has expired by its own clocks.
- A publication under the fence renews the lease.
- Two clocks are read, monotonic and wall. Each rule uses the clock whose error is harmless for the rule (see clock.py).

Not guaranteed:
- That a leader exists. After a crash the next candidate waits until the lease has expired.
- That a deposed leader detects this immediately. Its requests are rejected by the condition on the fence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from berth.lease.clock import Clock, Instant
from berth.lease.config import (
    JITTER_FACTOR,
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
from berth.lease.term import Observation, Term

HANDOVER_POLL = 0.5
"""Seconds between two reads of a candidate while a release is imminent."""

_TOLERANCE_SECONDS = 0.001  # sums of floats are not exact


def release(lock: LeaseLock, identity: str, clock: Clock) -> ReleaseOutcome:
    """Release the lease: get the record, and clear its holder if that is this candidate."""
    found = lock.get()
    if isinstance(found, Unavailable):
        return ReleaseOutcome.UNKNOWN
    # Check the holder that was just read: a successor may have acquired the lease during a pause.
    if found is None or found.spec.holder_identity != identity:
        return ReleaseOutcome.NOT_HELD
    now = clock.wall()
    written = lock.update(found, LeaseSpec("", RELEASED_DURATION_SECONDS, now, now, found.spec.lease_transitions))
    return ReleaseOutcome.RELEASED if isinstance(written, Written) else ReleaseOutcome.UNKNOWN


class LeaderElector:
    """A candidate, and the leader once the candidate has acquired the lease.

    A leadership begins with the write that acquired the lease. It ends when a read shows another holder, or at the
    renew deadline. Unlike client-go's leader, it does not become a candidate again if the record is missing, is empty
    or has another holder: its knowledge of the published state belongs to its epoch.
    """

    def __init__(
        self,
        lock: LeaseLock,
        config: LeaderElectionConfig,
        identity: str,
        clock: Clock,
        random: Callable[[], float],
        callbacks: LeaderCallbacks | None = None,
        handover: Handover | None = None,
        epoch_floor: Callable[[], int] = lambda: 0,
    ) -> None:
        """Create a candidate. identity: unique, never reused. random: returns a number in [0, 1), for the jitter.
        epoch_floor: called before the claim of a new term; returns its minimum epoch. A recreated head item restarts at
        0, but stores that outlive it and are fenced by epoch need an epoch greater than any earlier one."""
        if not identity:
            raise ValueError("a candidate's identity must not be empty: an empty holder means that the lease is free")
        self.identity = identity
        self._lock, self._config, self._clock, self._random = lock, config, clock, random
        self._callbacks = callbacks or LeaderCallbacks()
        self._handover = handover or Handover()
        self._epoch_floor = epoch_floor
        self._seen: Observation | None = None
        self._reported = ""
        self._may_hold = False
        """Whether a claim was sent and not rejected, so that this candidate may become the holder."""
        self._term: Term | None = None
        self._must_read = False
        """Whether the record has changed since it was read, so that it must be read before the next write."""
        self._ending: Step | None = None
        self._released: ReleaseOutcome | None = None
        self._started = clock.now()
        self._due = (self._started, 0.0)

    @property
    def leader(self) -> str:
        """Return the holder of the record as last read; empty if there is none. For information only."""
        return "" if self._seen is None else self._seen.lease.spec.holder_identity

    @property
    def handover_in(self) -> float:
        """Return the seconds until this leader's announced release; infinite if it does not lead or announce a
        release."""
        if self._term is None or self._handover.at is None:
            return math.inf
        return max(0.0, self._handover.at - self._clock.wall())

    def step(self) -> Step:
        """Take the step that is due: a candidate reads and writes; a leader updates, and if that fails, reads and
        updates again."""
        if self._ending is not None:
            return self._ending
        since, delay = self._due
        early = delay - self._clock.now().longest_since(since)
        if early > _TOLERANCE_SECONDS:
            return Step(ElectionOutcome.IDLE, early)
        step = self._acquire() if self._term is None else self._renew(self._term)
        self._due = (self._clock.now(), step.again_in)
        if step.ended:
            self._end(step)
        self._report()
        return step

    def fence(self) -> Fence | None:
        """Return the fence for a publication that is sent now. None: this process does not lead, or the next step must
        come first, because the lease has expired by its clocks or a publication was rejected since the last read."""
        term = self._term
        return None if term is None or self._must_read or not term.is_valid(self._clock.now()) else term.fence

    def keep(self) -> bool:
        """Take the step that is due; called during long work in the `wait` of `run`. Return False if the work must end:
        there is no valid fence, or the handover is due."""
        self.step()
        return self.fence() is not None and self.handover_in > 0

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """Record that a publication under `fence` was written, which renewed the lease, and return the next fence. at:
        a time before it was sent; the next renewal is due a retryPeriod later. An outdated fence is ignored."""
        if self._term is not None and fence == self._term.fence:
            self._term = self._term.published(at)
            self._due = (at, self._config.retry_period)
        return self.fence()

    def refused(self, fence: Fence) -> None:
        """Record that a publication under `fence` was rejected. `fence()` returns None until the next step, which is
        due immediately, has read the record. An outdated fence is ignored."""
        if self._term is not None and fence == self._term.fence:
            self._must_read = True
            self._due = (self._clock.now(), 0.0)

    def release(self) -> ReleaseOutcome:
        """Stop. If this candidate may be the record's holder, read the record, and clear the holder if it is this
        candidate. May be called after the elector has ended, and again after UNKNOWN."""
        if self._ending is None:
            self._end(Step(ElectionOutcome.RELEASED, ended=True))
        if not self._may_hold:
            return ReleaseOutcome.NOT_HELD
        if self._released in (None, ReleaseOutcome.UNKNOWN):
            self._released = release(self._lock, self.identity, self._clock)
            if self._released is ReleaseOutcome.RELEASED:
                self._seen = None
            self._report()
        return self._released

    # -------------------------------------------------------------------------------------------------- as a candidate

    def _acquire(self) -> Step:
        now = self._clock.now()
        found = self._lock.get()
        if isinstance(found, Unavailable):
            return self._retry(ElectionOutcome.UNAVAILABLE, found.reason)
        if found is None:
            return self._claim(None, self._epoch_floor())
        seen = self._observe(found)
        spec = found.spec
        if spec.holder_identity == self.identity:
            # The identity is unique, so this is an earlier claim of this candidate whose answer was lost.
            return self._claim(found, spec.lease_transitions, spec.acquire_time)
        if spec.holder_identity and seen.is_valid(now):
            return self._held(seen, now)
        return self._claim(found, max(spec.lease_transitions + 1, self._epoch_floor()))

    def _held(self, seen: Observation, now: Instant) -> Step:
        holder = seen.lease.spec.holder_identity
        ahead = seen.handover_in(now)
        if ahead > self._handover.horizon and seen.looks_healthy(self._config):
            return Step(ElectionOutcome.NOT_NEEDED, detail=f"{holder} leads and will not hand over soon", ended=True)
        step = self._retry(ElectionOutcome.HELD, f"{holder} leads")
        if ahead < -seen.lease.spec.lease_duration_seconds:
            return step  # the announced handover is overdue: polling faster does not help
        # The record may have been one retry period old when it was read; the release is that much closer.
        soon = max(0.0, ahead - self._config.longest_retry) + HANDOVER_POLL
        return replace(step, again_in=min(step.again_in, soon))

    def _claim(self, found: Lease | None, lease_transitions: int, acquire_time: float | None = None) -> Step:
        claimed_before, self._may_hold = self._may_hold, True
        sent = self._clock.now()
        spec = self._spec(sent, lease_transitions, sent.wall if acquire_time is None else acquire_time)
        match self._lock.create(spec) if found is None else self._lock.update(found, spec):
            case Written(lease):
                self._observe(lease)
                return self._lead(Term(lease, sent), "" if found is None else found.spec.holder_identity)
            case Conflict(current):
                self._may_hold = claimed_before
                if current is not None:
                    self._observe(current)
                return self._retry(ElectionOutcome.LOST_RACE, "the record changed between the read and the write")
            case Unavailable(reason):
                return self._retry(ElectionOutcome.UNAVAILABLE, reason)

    def _lead(self, term: Term, previous: str) -> Step:
        self._term = term
        self._report()
        waited = term.renewed_at.longest_since(self._started)
        became = BecameLeader(self.identity, term.fence.lease_transitions, previous, waited)
        self._callbacks.started_leading(became)
        return Step(ElectionOutcome.BECAME_LEADER, self._config.retry_period, str(became))

    def _retry(self, outcome: ElectionOutcome, detail: str) -> Step:
        return Step(outcome, self._config.retry_period * (1 + JITTER_FACTOR * self._random()), detail)

    # ------------------------------------------------------------------------------------------------------- as leader

    def _renew(self, term: Term) -> Step:
        now = self._clock.now()
        if not self._must_read and term.is_valid(now):
            written = self._update(term, term.lease, now)
            if isinstance(written, Written):
                return self._renewed(written.lease, now)
            self._must_read = isinstance(written, Conflict)
        found = self._lock.get()
        if isinstance(found, Unavailable):
            return self._failed(term, found.reason)
        if found is None or not term.is_continued_by(found):
            return self._deposed(found)
        now = self._clock.now()
        # Renew even an expired lease: another candidate did not acquire it, so the term continues in its epoch.
        match self._update(term, found, now):
            case Written(lease):
                return self._renewed(lease, now)
            case Conflict(_):
                return self._failed(term, "the record changed between the read and the write")
            case Unavailable(reason):
                return self._failed(term, reason)

    def _update(self, term: Term, seen: Lease, now: Instant) -> Written | Conflict | Unavailable:
        spec = term.lease.spec
        return self._lock.update(seen, self._spec(now, spec.lease_transitions, spec.acquire_time))

    def _renewed(self, lease: Lease, sent: Instant) -> Step:
        self._term = Term(lease, sent)
        self._must_read = False
        self._observe(lease)
        return Step(ElectionOutcome.RENEWED, self._config.retry_period)

    def _failed(self, term: Term, reason: str) -> Step:
        left = self._config.renew_deadline - self._clock.now().longest_since(term.renewed_at)
        if left <= 0:
            return Step(ElectionOutcome.RENEW_DEADLINE_EXCEEDED, detail=reason, ended=True)
        return Step(ElectionOutcome.RENEWAL_FAILED, min(self._config.retry_period, left), reason)

    def _deposed(self, found: Lease | None) -> Step:
        if found is None:
            return Step(ElectionOutcome.DEPOSED, detail="the head item is gone", ended=True)
        self._observe(found)
        holder, epoch = found.spec.holder_identity or "no candidate", found.spec.lease_transitions
        return Step(ElectionOutcome.DEPOSED, detail=f"{holder} holds item {found.uid} in epoch {epoch}", ended=True)

    def _end(self, ending: Step) -> None:
        led, self._term = self._term is not None, None
        self._ending = ending
        if led:
            self._callbacks.stopped_leading(ending.outcome)

    # ------------------------------------------------------------------------------------------------------ the record

    def _spec(self, now: Instant, lease_transitions: int, acquire_time: float) -> LeaseSpec:
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self._config.lease_duration,
            acquire_time=acquire_time,
            renew_time=now.wall,
            lease_transitions=lease_transitions,
            handover_at=self._handover.at,
        )

    def _observe(self, lease: Lease) -> Observation:
        now = self._clock.now()
        self._seen = Observation(lease, now) if self._seen is None else self._seen.then(lease, now)
        return self._seen

    def _report(self) -> None:
        if self.leader != self._reported:
            self._reported = self.leader
            self._callbacks.new_leader(self.leader)


_RELEASES = 2


def new_identity(name: str) -> str:
    """Return a unique identity for one candidate: `name` and a UUID. Call it in each invocation of the handler."""
    return f"{name}_{uuid4()}"


def run(elector: LeaderElector, wait: Callable[[float], bool]) -> Step:
    """Step until the elector ends, the announced handover is due, or `wait` returns True. Then release the lease, and
    return the last step. `wait(seconds)`: waits, or works as the leader, and returns within that time."""
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
    """Limits the number of waiting candidates to one, by a second lease; for one thread. The schedule starts a
    candidate every minute, and each would wait for the same event: a second candidate would only cost money."""

    def __init__(self, elector: LeaderElector) -> None:
        """Create the standby. elector: a candidate for the standby lease, not for the head."""
        self._elector = elector
        self._is_held = False
        self._was_held = False

    def acquire(self, sleep: Callable[[float], None], stopped: Callable[[], bool]) -> bool:
        """Try to acquire the standby lease, and return whether this candidate holds it. If another candidate holds it,
        this takes one read; if the holder has crashed or is about to release the lease, up to the lease's duration."""
        while not stopped():
            step = self._step()
            if self._is_held or step.ended:
                break
            sleep(step.again_in)
        return self._is_held

    def may_wait(self) -> bool:
        """Return whether this candidate may wait, because it seems to be the only one. Call it every two seconds: it
        tries to acquire the lease, and then renews it. A candidate that has held the lease waits to the end, even if it
        loses the lease."""
        if self._was_held:
            self.renew()
            return True
        return not self._step().ended

    def renew(self) -> bool:
        """Renew the lease when a renewal is due; call it every two seconds. Return whether the lease is still held."""
        if self._is_held:
            self._is_held = not self._elector.step().ended
        return self._is_held

    def release(self) -> ReleaseOutcome:
        self._is_held = False
        return self._elector.release()

    def _step(self) -> Step:
        step = self._elector.step()
        self._is_held = step.outcome is ElectionOutcome.BECAME_LEADER
        self._was_held |= self._is_held
        return step
