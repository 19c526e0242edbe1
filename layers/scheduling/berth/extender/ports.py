"""The ports of the verbs. Their adapters are in nodecache/ and cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import FailureOutcome
from berth.scheduling.configuration.document import Decisions, WhenStale
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CacheUnavailable:
    """The snapshot is missing or too old; `reason` has the cause and a remedy."""

    reason: str
    when_stale: WhenStale = WhenStale.FAIL
    outcome: FailureOutcome = FailureOutcome.CACHE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class LogRange:
    """Positions in the log of announcements. first: all announcements before it have ended. end: the last position; 0
    if the log is empty."""

    first: int
    end: int


EMPTY_LOG = LogRange(1, 0)


class CacheState(NamedTuple):
    """The state that a call uses, for records of decisions. version: the node cache's version, as the call read it; 0
    if it was not read. The parts that the decision reads have this version or a later one. observed_at: the data's
    time, in seconds since the epoch. configuration_hash: empty for the deployed document. decisions: the
    destination of records in the configuration; None: the environment's default."""

    version: int = 0
    observed_at: float = 0.0
    configuration_hash: str = ""
    decisions: Decisions | None = None


UNREAD_CACHE = CacheState()


@dataclass(frozen=True, slots=True)
class PodCoverage:
    """The changes of pods that a snapshot contains. resource_version: the snapshot contains all changes up to this
    version. observed_at: it also contains all changes before this time, in seconds since the epoch."""

    resource_version: str = ""
    observed_at: float = 0.0

    def covers(self, resource_version: str) -> bool | None:
        """Return whether the snapshot contains this version of a pod, or a later one; None if that is unknown."""
        seen = self.resource_version
        if not (seen.isdecimal() and resource_version.isdecimal()):
            return None
        return int(resource_version) <= int(seen)


UNKNOWN_COVERAGE = PodCoverage()


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The input of a decision: the policy in force, and the cluster from the cache.

    counting_refusal: the reason to reject pods that request counted resources; empty if they are not rejected. log: the
    announcements that were read for the cluster. state: the cache's state, for records of decisions. coverage: the
    changes of pods that the cluster contains.
    """

    policy: Policy
    cluster: Snapshot | CacheUnavailable
    counting_refusal: str = ""
    log: LogRange = EMPTY_LOG
    state: CacheState = UNREAD_CACHE
    coverage: PodCoverage = UNKNOWN_COVERAGE


REREADS, REREAD_SECONDS = 10, 0.025
"""The number of rereads of a cache that lacks a change in the request, and the seconds between reads. `berth serve`
publishes a change within 25 ms, a stack within a few hundred. The scheduler does not try another pod in this time."""


class NodeCache(ABC):
    """The cluster's state and the applied configuration. Neither of them goes back to an earlier version."""

    @abstractmethod
    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        """Return the cluster as last published; costs one read of the head if the head has not changed.

        The cluster has the parts that the policy reads. `reads`: the parts that the verb needs in addition.
        `pod_version`: a cache that is milliseconds behind waits until it contains this version of a pod. After the
        deadline it neither reads a table nor waits.
        """

    def asked_about(self, pod: Pod) -> None:  # noqa: B027  most caches belong to processes that do not bind
        """Record that a scheduler has sent this pod, and may bind it next."""

    @abstractmethod
    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        """Return only the policy, for requests that contain their nodes. Costs at most one read of the head."""


OpenGangs = Callable[[Deadline], Sequence[OpenGang]]
"""Returns the gangs that are being bound, read consistently. After the deadline it returns the result of the previous
read. filter calls it only for members of gangs."""


def no_open_gangs(deadline: Deadline) -> Sequence[OpenGang]:
    """Return an empty sequence, for callers without open gangs such as the simulator."""
    return NO_OPEN_GANGS
