"""The configuration of an election, its outcomes and callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

JITTER_FACTOR = 1.2
"""A candidate waits between one retryPeriod and this much more, so that not all retry at the same time."""


@dataclass(frozen=True, slots=True)
class LeaderElectionConfig:
    """The fields of the component config's LeaderElectionConfiguration, in seconds, with its defaults.

    lease_duration: how long a candidate waits after the last change of the record that it saw. Whole seconds, since the
    record has whole seconds: the holder must not believe in a longer lease than the one it wrote.
    renew_deadline: the leader stops when its last renewal is this old. client-go counts from the first failed try, but
    can cancel a call under way; here a call ends when the client's timeouts end it, and the lease's rest is for that.
    So it is shorter than lease_duration, and longer than a retry_period with its jitter.
    retry_period: between two renewals, and (with jitter) between two tries to acquire.
    """

    lease_duration: int = 15
    renew_deadline: float = 10
    retry_period: float = 2

    @property
    def longest_retry(self) -> float:
        return self.retry_period * (1 + JITTER_FACTOR)


@dataclass(frozen=True, slots=True)
class Handover:
    """The handover of a leader whose run has an end.

    at: the wall clock time at which this candidate releases the lease once it leads. None: it announces no handover.
    horizon: a candidate waits for a handover that is announced within so many seconds. With a healthy leader whose
    handover is later, or not announced, the candidate is not needed. Infinite: it always waits (a standby).
    """

    at: float | None = None
    horizon: float = math.inf


class ElectionOutcome(StrEnum):
    """How a step ended. The outcomes of the last group are final: a new candidate is a new elector."""

    IDLE = "idle"  # nothing was due; no call

    HELD = "held"
    LOST_RACE = "lost-race"
    UNAVAILABLE = "failure-lease-unavailable"

    BECAME_LEADER = "became-leader"
    RENEWED = "renewed"
    RENEWAL_FAILED = "failure-renewal"  # leads on, until the renew deadline

    NOT_NEEDED = "not-needed"  # a healthy leader that will not hand over soon
    DEPOSED = "deposed"
    RENEW_DEADLINE_EXCEEDED = "failure-renew-deadline-exceeded"
    RELEASED = "released"


class ReleaseOutcome(StrEnum):
    """How a release ended."""

    RELEASED = "released"
    NOT_HELD = "not-held"  # the record does not name this candidate
    UNKNOWN = "failure-release-unknown"  # may be released or not; release again, or the lease runs out by itself


@dataclass(frozen=True, slots=True)
class Step:
    """`again_in`: seconds until the next step is due; earlier ones cost nothing. `ended`: there is none."""

    outcome: ElectionOutcome
    again_in: float = 0.0
    detail: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class BecameLeader:
    """For the log. `waited`: seconds since the elector was made; `previous`: whose record it was, if anybody's."""

    identity: str
    lease_transitions: int
    previous: str
    waited: float

    def __str__(self) -> str:
        after = f" after {self.previous}" if self.previous else ""
        return (
            f"{self.identity} became leader{after} in epoch {self.lease_transitions}, having waited {self.waited:.1f} s"
        )


def _do_nothing(_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """Called from within the step or the release that found out, when the elector's own state is already the new one.

    started_leading: once. stopped_leading: once, only after started_leading; before a release is written, so that what
    it ends has ended before the next leader can begin. new_leader: whenever the record's holder is another than before,
    the first one and this candidate itself included; empty after a release.
    """

    started_leading: Callable[[BecameLeader], None] = _do_nothing
    stopped_leading: Callable[[ElectionOutcome], None] = _do_nothing
    new_leader: Callable[[str], None] = _do_nothing
