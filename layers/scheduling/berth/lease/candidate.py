"""Who stands for election and what it would write; and what it has seen of the record so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berth.lease.clock import Clock, Instant
from berth.lease.config import HandOver, LeaderElectionConfig
from berth.lease.record import Lease, LeaseSpec
from berth.lease.validity import Observation


@dataclass(frozen=True, slots=True)
class Candidate:
    """An identity that nobody had before and nobody will have again, and the rules by which it stands."""

    identity: str
    config: LeaderElectionConfig
    handover: HandOver

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("a candidate's identity must not be empty: an empty holder stands for nobody")

    def spec(self, now: Instant, lease_transitions: int, acquire_time: float | None = None) -> LeaseSpec:
        """The record with this candidate as holder, renewed now; acquired now too unless it says when."""
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
        """Empty before the first look, and after a release."""
        return "" if self._last is None else self._last.lease.spec.holder_identity

    def saw(self, lease: Lease) -> Observation:
        """Note a record that was just read or written."""
        now = self._clock.now()
        self._last = Observation(lease, now) if self._last is None else self._last.then(lease, now)
        return self._last

    def report(self) -> None:
        """Call new_leader if the holder is another than when it was last called."""
        if self.holder != self._reported:
            self._reported = self.holder
            self._new_leader(self.holder)
