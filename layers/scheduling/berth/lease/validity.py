"""How long a lease counts, as seen by a candidate and as seen by its holder. Only this process's clocks are asked.

What the record says about times is information: a clock elsewhere may be a year off. It decides no more than whether it
is worth waiting, and that in a way that is corrected by the next change of the record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from berth.lease.clock import Instant
from berth.lease.config import LeaderElectionConfig
from berth.lease.record import Fence, Lease


@dataclass(frozen=True, slots=True)
class Observation:
    """A record, and when this candidate saw it for the first time. `changed`: it has seen an earlier one before."""

    lease: Lease
    since: Instant
    changed: bool = False

    def then(self, lease: Lease, now: Instant) -> Observation:
        """The observation after another look. Any difference counts as a sign of life and starts the wait anew."""
        if lease != self.lease:
            return Observation(lease, now, changed=True)
        if now.wall < self.since.wall:
            # The clock was set back. By the shorter of the two times the lease would not end before the wall clock has
            # caught up, which may be a year: the wait starts anew instead.
            return replace(self, since=now)
        return self

    def is_valid(self, now: Instant) -> bool:
        """Whether the holder may still act on it, by the duration that the holder itself recorded."""
        return now.shortest_since(self.since) < self.lease.spec.lease_duration_seconds

    def looks_healthy(self, config: LeaderElectionConfig) -> bool:
        """Whether the holder renews: either before my eyes or, at first sight, a moment ago if our clocks agree."""
        return self.changed or abs(self.since.wall - self.lease.spec.renew_time) <= 2 * config.retry_period

    def handover_in(self, now: Instant) -> float:
        """Seconds until the holder means to release, by the holder's clock alone; infinite if it announced nothing.

        Too large by the age that the record had when it was seen.
        """
        spec = self.lease.spec
        if spec.handover_at is None:
            return math.inf
        return spec.handover_at - spec.renew_time - now.longest_since(self.since)


@dataclass(frozen=True, slots=True)
class Term:
    """A lease of mine. `renewed_at` is before its last renewal was sent: no one can have seen that renewal earlier."""

    lease: Lease
    renewed_at: Instant

    def is_valid(self, now: Instant) -> bool:
        """Whether no one can have waited out the lease by now."""
        return now.longest_since(self.renewed_at) < self.lease.spec.lease_duration_seconds

    def is_continued_by(self, lease: Lease) -> bool:
        """Whether this record is the same term's: the same item, and nobody else in between."""
        mine, found = self.lease.spec, lease.spec
        return (self.lease.uid, mine.holder_identity, mine.lease_transitions) == (
            lease.uid,
            found.holder_identity,
            found.lease_transitions,
        )

    @property
    def fence(self) -> Fence:
        """What a publication in this term is conditional on."""
        spec = self.lease.spec
        return Fence(spec.holder_identity, spec.lease_transitions, self.lease.uid, self.lease.resource_version)

    def published(self, at: Instant) -> Term:
        """The term after a publication under its fence that was sent at `at`."""
        spec = replace(self.lease.spec, renew_time=at.wall)
        return Term(replace(self.lease, spec=spec, resource_version=self.fence.next_resource_version), at)
