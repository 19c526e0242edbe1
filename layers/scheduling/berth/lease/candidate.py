"""The candidate: one attempt to acquire the lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from berth.lease.clock import Clock, Instant
from berth.lease.config import JITTER_FACTOR, Handover, LeaderElectionConfig
from berth.lease.lock import Conflict, LeaseLock, Unavailable, Written
from berth.lease.outcomes import ElectionOutcome, Step
from berth.lease.record import Lease, LeaseSpec
from berth.lease.validity import Observation, Term


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unique identity, never used again, and the configuration of its election."""

    identity: str
    config: LeaderElectionConfig
    handover: Handover

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("a candidate's identity must not be empty: an empty holder means that the lease is free")

    def spec(self, now: Instant, lease_transitions: int, acquire_time: float | None = None) -> LeaseSpec:
        """The record with this candidate as holder, renewed now. `acquire_time`: by default now."""
        return LeaseSpec(
            holder_identity=self.identity,
            lease_duration_seconds=int(self.config.lease_duration),
            acquire_time=now.wall if acquire_time is None else acquire_time,
            renew_time=now.wall,
            lease_transitions=lease_transitions,
            handover_at=self.handover.at,
        )


class ObservedRecord:
    """The record as it was last read or written, by whichever part of the elector."""

    def __init__(self, clock: Clock, new_leader: Callable[[str], None]) -> None:
        self._clock = clock
        self._new_leader = new_leader
        self._last: Observation | None = None
        self._reported = ""

    @property
    def holder(self) -> str:
        """Empty before the first read, and after a release."""
        return "" if self._last is None else self._last.lease.spec.holder_identity

    def observe(self, lease: Lease) -> Observation:
        """Keep a record that was just read or written."""
        now = self._clock.now()
        self._last = Observation(lease, now) if self._last is None else self._last.then(lease, now)
        return self._last

    def report(self) -> None:
        """Call new_leader if the holder is another than when it was last called."""
        if self.holder != self._reported:
            self._reported = self.holder
            self._new_leader(self.holder)


HANDOVER_POLL = 0.5
"""Seconds between two reads of a candidate while a release is expected at any moment."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The lease is held. `previous`: the holder before; empty if there was none."""

    term: Term
    previous: str


class Acquisition:
    """`claimed`: a claim was sent and not refused, so the record may name this candidate now or later."""

    def __init__(
        self,
        lock: LeaseLock,
        candidate: Candidate,
        observed: ObservedRecord,
        clock: Clock,
        random: Callable[[], float],
        epoch_floor: Callable[[], int],
    ) -> None:
        """epoch_floor: the least epoch of a new term; called before each claim of one."""
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
            # No other candidate has this identity: it is an earlier claim of this candidate, and its answer was lost.
            return self._claim(found, spec.lease_transitions, spec.acquire_time)
        if spec.holder_identity and seen.is_valid(now) and self._candidate.config.leader_elect:
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
