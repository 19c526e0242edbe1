"""The configuration of an election, its outcomes and callbacks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

JITTER_FACTOR = 1.2
"""A candidate waits for 1 to (1 + JITTER_FACTOR) retryPeriods, so that not all candidates retry at the same time."""


@dataclass(frozen=True, slots=True)
class LeaderElectionConfig:
    """The fields of the component config's LeaderElectionConfiguration, in seconds, with its defaults.

    lease_duration: whole seconds, as in the record: the holder must not assume a longer lease than it wrote.
    renew_deadline: the leader stops when its last renewal is this old. client-go counts from the first failed attempt,
    but can cancel a running call; here only the client's timeouts end a call, and the rest of the lease is reserved for
    them. So renew_deadline is shorter than lease_duration. It is longer than a retry_period with its jitter.
    """

    lease_duration: int = 15
    renew_deadline: float = 10
    retry_period: float = 2

    @property
    def longest_retry(self) -> float:
        return self.retry_period * (1 + JITTER_FACTOR)


@dataclass(frozen=True, slots=True)
class Handover:
    """The handover that this candidate announces, and the handovers it awaits. at: the wall clock time of its release;
    None if it does not announce one. horizon: the candidate ends with NOT_NEEDED if a healthy leader will not hand over
    within this many seconds; infinite if it always waits (a standby)."""

    at: float | None = None
    horizon: float = math.inf


class ElectionOutcome(StrEnum):
    """The outcome of a step. Outcomes of the last group are final: create a new elector to become a candidate again."""

    IDLE = "idle"  # nothing was due, so no request was made

    HELD = "held"
    LOST_RACE = "lost-race"
    UNAVAILABLE = "failure-lease-unavailable"

    BECAME_LEADER = "became-leader"
    RENEWED = "renewed"
    RENEWAL_FAILED = "failure-renewal"  # the candidate still leads, until the renew deadline

    NOT_NEEDED = "not-needed"  # a healthy leader will not hand over soon
    DEPOSED = "deposed"
    RENEW_DEADLINE_EXCEEDED = "failure-renew-deadline-exceeded"
    RELEASED = "released"


class ReleaseOutcome(StrEnum):
    RELEASED = "released"
    NOT_HELD = "not-held"  # the record does not name this candidate
    UNKNOWN = "failure-release-unknown"  # unknown whether it is released: release again, or let the lease expire


@dataclass(frozen=True, slots=True)
class Step:
    """The result of a step. `again_in`: seconds until the next step is due; earlier steps do not make requests.
    `ended`: there is no next step."""

    outcome: ElectionOutcome
    again_in: float = 0.0
    detail: str = ""
    ended: bool = False


@dataclass(frozen=True, slots=True)
class BecameLeader:
    """The event that a candidate became leader, as a log message. `waited`: seconds since the elector was created;
    `previous`: the previous holder, if any."""

    identity: str
    lease_transitions: int
    previous: str
    waited: float

    def __str__(self) -> str:
        after = f" after {self.previous}" if self.previous else ""
        return (
            f"{self.identity} became leader{after} in epoch {self.lease_transitions}, having waited {self.waited:.1f} s"
        )


@dataclass(frozen=True, slots=True)
class LeaderCallbacks:
    """Callbacks of an elector. The step or the release that detects a change calls them after it has updated the
    elector's state.

    stopped_leading: called once, only after started_leading, and before a release is written, so that this leader's
    work ends before the next leader begins. new_leader: called whenever the record's holder changes, also for the first
    holder and for this candidate; with an empty name after a release.
    """

    started_leading: Callable[[BecameLeader], None] = lambda _: None
    stopped_leading: Callable[[ElectionOutcome], None] = lambda _: None
    new_leader: Callable[[str], None] = lambda _: None
