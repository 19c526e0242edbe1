"""The validity of leases by this process's clocks: another holder's lease, and this process's own.

Times in the record are informational: another clock may be wrong by a year. They only decide whether a candidate waits,
and the next change of the record corrects that decision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from berth.lease.clock import Instant
from berth.lease.config import LeaderElectionConfig
from berth.lease.lock import Fence, Lease


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when this candidate first read it. `changed`: whether an earlier read found another record."""

    lease: Lease
    since: Instant
    changed: bool = False

    def then(self, lease: Lease, now: Instant) -> Observation:
        """Return the observation after another read. A change proves that the holder is alive, and restarts the
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
        """Return whether the holder renews the lease: the record changed, or had a recent renewTime when first read."""
        return self.changed or abs(self.since.wall - self.lease.spec.renew_time) <= 2 * config.retry_period

    def handover_in(self, now: Instant) -> float:
        """Return the seconds until the holder's planned release, by the holder's clock; infinite without a plan. The
        result is too large by the age that the record had when it was read."""
        spec = self.lease.spec
        if spec.handover_at is None:
            return math.inf
        return spec.handover_at - spec.renew_time - now.longest_since(self.since)


@dataclass(frozen=True, slots=True)
class Term:
    """A lease that this process holds. `renewed_at`: the time just before its last renewal was sent."""

    lease: Lease
    renewed_at: Instant

    def is_valid(self, now: Instant) -> bool:
        """Return whether the lease is valid for certain: no other process can have waited for its whole duration."""
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
        """Return the term with the renew time and resource version that a publication sent at `at` has written."""
        spec = replace(self.lease.spec, renew_time=at.wall)
        return Term(replace(self.lease, spec=spec, resource_version=self.fence.next_resource_version), at)
