"""The candidate: one attempt to acquire the lease, and how long a lease is valid by this process's clocks.

Times in the record are informational: another clock may be wrong by a year. They only decide whether a candidate waits,
and the next change of the record corrects that decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from berth.lease.clock import Clock, Instant
from berth.lease.config import JITTER_FACTOR, ElectionOutcome, Handover, LeaderElectionConfig, Step
from berth.lease.lock import Conflict, Fence, Lease, LeaseLock, LeaseSpec, Unavailable, Written


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and the time when this candidate first read it. `changed`: the candidate had read another before."""

    lease: Lease
    since: Instant
    changed: bool = False

    def then(self, lease: Lease, now: Instant) -> Observation:
        """Return the observation after another read. Any difference proves that the holder is alive, and restarts the
        wait."""
        if lease != self.lease:
            return Observation(lease, now, changed=True)
        if now.wall < self.since.wall:
            # The clock was set back. With the shorter of the two times the lease would not end before the wall clock
            # has caught up, which may take a year: restart the wait instead.
            return replace(self, since=now)
        return self

    def is_valid(self, now: Instant) -> bool:
        """Return whether the holder may still use the lease, by the duration that the holder recorded."""
        return now.shortest_since(self.since) < self.lease.spec.lease_duration_seconds

    def looks_healthy(self, config: LeaderElectionConfig) -> bool:
        """Return whether the holder renews: the record changed, or had a recent renewTime when first read."""
        return self.changed or abs(self.since.wall - self.lease.spec.renew_time) <= 2 * config.retry_period

    def handover_in(self, now: Instant) -> float:
        """Return the seconds until the holder's planned release, by the holder's clock; infinite without a plan.

        Too large by the age of the record when it was read.
        """
        spec = self.lease.spec
        if spec.handover_at is None:
            return math.inf
        return spec.handover_at - spec.renew_time - now.longest_since(self.since)


@dataclass(frozen=True, slots=True)
class Term:
    """A lease that this process holds. `renewed_at`: just before its last renewal was sent."""

    lease: Lease
    renewed_at: Instant

    def is_valid(self, now: Instant) -> bool:
        """Return whether the lease is valid: another process cannot have waited until its expiry."""
        return now.longest_since(self.renewed_at) < self.lease.spec.lease_duration_seconds

    def is_continued_by(self, lease: Lease) -> bool:
        """Return whether this record belongs to the same term: the same item, holder and epoch."""
        mine, found = self.lease.spec, lease.spec
        return (self.lease.uid, mine.holder_identity, mine.lease_transitions) == (
            lease.uid,
            found.holder_identity,
            found.lease_transitions,
        )

    @property
    def fence(self) -> Fence:
        spec = self.lease.spec
        return Fence(spec.holder_identity, spec.lease_transitions, self.lease.uid, self.lease.resource_version)

    def published(self, at: Instant) -> Term:
        """Return the term after a publication under its fence that was sent at `at`."""
        spec = replace(self.lease.spec, renew_time=at.wall)
        return Term(replace(self.lease, spec=spec, resource_version=self.fence.next_resource_version), at)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate: its unique identity, which is never reused, and the configuration of its election."""

    identity: str
    config: LeaderElectionConfig
    handover: Handover

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("a candidate's identity must not be empty: an empty holder means that the lease is free")

    def spec(self, now: Instant, lease_transitions: int, acquire_time: float | None = None) -> LeaseSpec:
        """Return the record with this candidate as holder, renewed now. `acquire_time`: by default now."""
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=self.config.lease_duration,
            acquire_time=now.wall if acquire_time is None else acquire_time,
            renew_time=now.wall,
            lease_transitions=lease_transitions,
            handover_at=self.handover.at,
        )


class ObservedRecord:
    """The record as it was last read or written by any part of the elector."""

    def __init__(self, clock: Clock, new_leader: Callable[[str], None]) -> None:
        self._clock = clock
        self._new_leader = new_leader
        self._last: Observation | None = None
        self._reported = ""

    @property
    def holder(self) -> str:
        """Return the holder; empty before the first read, and after a release."""
        return "" if self._last is None else self._last.lease.spec.holder_identity

    def observe(self, lease: Lease) -> Observation:
        now = self._clock.now()
        self._last = Observation(lease, now) if self._last is None else self._last.then(lease, now)
        return self._last

    def report(self) -> None:
        """Call new_leader if the holder has changed since the last call."""
        if self.holder != self._reported:
            self._reported = self.holder
            self._new_leader(self.holder)


HANDOVER_POLL = 0.5
"""Seconds between two reads of a candidate while a release is imminent."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The candidate has acquired the lease. `previous`: the previous holder; empty without one."""

    term: Term
    previous: str


class Acquisition:
    """Acquires the lease. `claimed`: a claim was sent and not rejected, so this candidate may become the holder."""

    def __init__(
        self,
        lock: LeaseLock,
        candidate: Candidate,
        observed: ObservedRecord,
        clock: Clock,
        random: Callable[[], float],
        epoch_floor: Callable[[], int],
    ) -> None:
        """epoch_floor: returns the minimum epoch of a new term; called before each claim."""
        self._lock = lock
        self._candidate = candidate
        self._observed = observed
        self._clock = clock
        self._random = random
        self._epoch_floor = epoch_floor
        self.claimed = False

    def attempt(self) -> Acquired | Step:
        """Read the record, and create or update it if the lease is free."""
        now = self._clock.now()
        found = self._lock.get()
        if isinstance(found, Unavailable):
            return self._retry(ElectionOutcome.UNAVAILABLE, found.reason)
        if found is None:
            return self._claim(None, self._epoch_floor())
        seen = self._observed.observe(found)
        spec = found.spec
        if spec.holder_identity == self._candidate.identity:
            # The identity is unique, so this is an earlier claim of this candidate whose answer was lost.
            return self._claim(found, spec.lease_transitions, spec.acquire_time)
        if spec.holder_identity and seen.is_valid(now):
            return self._held(seen, now)
        return self._claim(found, max(spec.lease_transitions + 1, self._epoch_floor()))

    def _held(self, seen: Observation, now: Instant) -> Step:
        holder = seen.lease.spec.holder_identity
        ahead = seen.handover_in(now)
        if ahead > self._candidate.handover.horizon and seen.looks_healthy(self._candidate.config):
            return Step(ElectionOutcome.NOT_NEEDED, detail=f"{holder} leads and will not hand over soon", ended=True)
        step = self._retry(ElectionOutcome.HELD, f"{holder} leads")
        if ahead < -seen.lease.spec.lease_duration_seconds:
            return step  # the announced handover is overdue: polling faster does not help
        # The record may have been one retry period old when it was read; the release is that much closer.
        soon = max(0.0, ahead - self._candidate.config.longest_retry) + HANDOVER_POLL
        return replace(step, again_in=min(step.again_in, soon))

    def _claim(self, found: Lease | None, lease_transitions: int, acquire_time: float | None = None) -> Acquired | Step:
        claimed_before, self.claimed = self.claimed, True
        sent = self._clock.now()
        spec = self._candidate.spec(sent, lease_transitions, acquire_time)
        written = self._lock.create(spec) if found is None else self._lock.update(found, spec)
        match written:
            case Written(lease):
                self._observed.observe(lease)
                return Acquired(Term(lease, sent), "" if found is None else found.spec.holder_identity)
            case Conflict(current):
                self.claimed = claimed_before
                if current is not None:
                    self._observed.observe(current)
                return self._retry(ElectionOutcome.LOST_RACE, "the record changed between the read and the write")
            case Unavailable(reason):
                return self._retry(ElectionOutcome.UNAVAILABLE, reason)

    def _retry(self, outcome: ElectionOutcome, detail: str) -> Step:
        return Step(outcome, self._candidate.config.retry_period * (1 + JITTER_FACTOR * self._random()), detail)
