"""What the verbs need from outside. Adapters live in nodecache/ and cluster/."""

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
    """There is no snapshot to decide on, or one that is too old; `reason` names cause and remedy."""

    reason: str
    when_stale: WhenStale = WhenStale.FAIL
    outcome: FailureOutcome = FailureOutcome.CACHE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class LogRange:
    """Positions of the log of announcements. first: all before it have ended. end: the last one; 0 where none is."""

    first: int
    end: int


EMPTY_LOG = LogRange(1, 0)


class CacheState(NamedTuple):
    """Which state a call decides by, for records of decisions. version: of the node cache, as the call read it; 0 where
    it was not read. Of the parts that the decision reads, the cluster has this version or a later one.
    observed_at: of the data, in seconds since the epoch. configuration_hash: empty for the deployed document.
    decisions: where the configuration sends records; None leaves it to the environment."""

    version: int = 0
    observed_at: float = 0.0
    configuration_hash: str = ""
    decisions: Decisions | None = None


UNREAD_CACHE = CacheState()


@dataclass(frozen=True, slots=True)
class PodCoverage:
    """How far a snapshot follows the pods of the API server.

    resource_version: it contains all changes up to this one. observed_at: and all that were made before this time, in
    seconds since the epoch.
    """

    resource_version: str = ""
    observed_at: float = 0.0

    def covers(self, resource_version: str) -> bool | None:
        """Whether the snapshot contains this version of a pod, or a later one. None where that cannot be said."""
        seen = self.resource_version
        if not (seen.isdecimal() and resource_version.isdecimal()):
            return None
        return int(resource_version) <= int(seen)


UNKNOWN_COVERAGE = PodCoverage()


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What a call decides by: the policy in force, and the cluster as the cache has it.

    counting_refusal: why pods that request counted resources get no decision; empty: they do. log: the announcements
    that were read for the cluster. state: for records of decisions. coverage: how far the cluster follows the pods.
    """

    policy: Policy
    cluster: Snapshot | CacheUnavailable
    counting_refusal: str = ""
    log: LogRange = EMPTY_LOG
    state: CacheState = UNREAD_CACHE
    coverage: PodCoverage = UNKNOWN_COVERAGE


class NodeCache(ABC):
    """The state of the cluster, and the configuration that was applied to it. Neither ever goes back."""

    @abstractmethod
    def current(self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS) -> DecisionContext:
        """As last published, at the cost of one read of the head when nothing changed.

        The cluster has the parts that the policy reads. `reads`: what the verb itself reads in addition. After
        the deadline no table is read and nothing is waited for.
        """

    def asked_about(self, pod: Pod) -> None:  # noqa: B027  most caches are of no process that binds
        """A scheduler asks about this pod, and may bind it next."""

    @abstractmethod
    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        """The policy alone, for requests that bring their nodes with them. It costs a read of the head at the most."""


OpenGangs = Callable[[Deadline], Sequence[OpenGang]]
"""Returns the gangs that are being bound, read consistently. After the deadline no table is read: then those of the
read before. filter reads them for members of gangs, and for no other pod."""


def no_open_gangs(deadline: Deadline) -> Sequence[OpenGang]:
    """Return no gang: where none is ever open, as in the simulator."""
    return NO_OPEN_GANGS
