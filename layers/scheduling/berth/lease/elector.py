"""Leader election with the semantics of client-go's, as a state machine: it neither waits nor starts a thread.

Guarantees: of all candidates for one item, at most one holds the record, and its epoch (leaseTransitions) grows by one
with every change of holder and never otherwise. A candidate takes over only what it has itself seen unchanged for as
long as the holder recorded, by the slower of its clocks; a leader believes in its lease by the faster. A leader stops
when its last renewal is renewDeadline old, or as soon as it reads a record that is not of its term.

Not guaranteed: that only one process believes it leads. It may be frozen between a look at `fence()` and what it then
does, and wake up when another leads. Nothing that matters may rest on the lease alone: what a leader writes becomes
visible by a publication that is conditional on its fence, and the store refuses that of a deposed one. Nor is it
guaranteed that anybody leads: while the store cannot be reached nobody can.

One elector is one candidacy: made in the handler, under an identity that nobody had before and nobody will have again
(never at import, which environments restored from one snapshot share), and not kept for the next invocation. One
thread calls it; it is the thread that publishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from berth.lease.acquisition import Acquired, Acquisition
from berth.lease.candidate import Candidate, ObservedRecord
from berth.lease.clock import Clock, Instant
from berth.lease.config import HandOver, LeaderElectionConfig
from berth.lease.leadership import Leadership
from berth.lease.lock import LeaseLock
from berth.lease.outcomes import BecameLeader, ElectionOutcome, LeaderCallbacks, ReleaseOutcome, Step
from berth.lease.record import Fence
from berth.lease.release import release

_PUNCTUAL = 0.001  # a step this many seconds early is on time: sums of floats are not exact


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
        handover: HandOver | None = None,
    ) -> None:
        self._lock = lock
        self._clock = clock
        self._callbacks = callbacks or LeaderCallbacks()
        self._candidate = Candidate(identity, config, handover or HandOver())
        self._observed = ObservedRecord(clock, self._callbacks.new_leader)
        self._acquisition = Acquisition(lock, self._candidate, self._observed, clock, random)
        self._leadership: Leadership | None = None
        self._ending: Step | None = None
        self._released: ReleaseOutcome | None = None
        self._started = clock.now()
        self._due = (self._started, 0.0)

    @property
    def identity(self) -> str:
        """The holder's name while this elector leads."""
        return self._candidate.identity

    @property
    def leader(self) -> str:
        """The holder that was seen last; empty if there was none. For information only."""
        return self._observed.holder

    @property
    def handover_in(self) -> float:
        """Seconds until this leader releases, as it announced; infinite if it does not lead or announced nothing."""
        if self._leadership is None or self._candidate.handover.at is None:
            return math.inf
        return max(0.0, self._candidate.handover.at - self._clock.wall())

    def step(self) -> Step:
        """Do what is due: a candidate's get and write, or a leader's update, with a get and another if that fails."""
        if self._ending is not None:
            return self._ending
        since, delay = self._due
        early = delay - self._clock.now().longest_since(since)
        if early > _PUNCTUAL:
            return Step(ElectionOutcome.IDLE, early)
        step = self._acquire() if self._leadership is None else self._leadership.renew()
        self._due = (self._clock.now(), step.again_in)
        if step.ended:
            self._end(step)
        self._observed.report()
        return step

    def fence(self) -> Fence | None:
        """What a publication now is to be conditional on; None: not to be published before the next step."""
        return None if self._leadership is None else self._leadership.fence()

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """A publication under `fence` was written; `at` is before it was sent. Returns the next fence.

        It is a renewal: the next is due a retryPeriod after it. A fence that is not the current one changes nothing.
        """
        if self._leadership is not None and self._leadership.published(fence, at):
            self._due = (at, self._candidate.config.retry_period)
        return self.fence()

    def refused(self, fence: Fence) -> None:
        """A publication under `fence` was refused: no fence until the next step, due at once, has read the record."""
        if self._leadership is not None and self._leadership.doubt(fence):
            self._due = (self._clock.now(), 0.0)

    def release(self) -> ReleaseOutcome:
        """Stop, and make the record nobody's if it still names this candidate: a get and an update.

        No call if no claim was ever sent. Also for an elector that has ended by itself, and once more after UNKNOWN.
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
