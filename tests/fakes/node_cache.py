"""Node caches with fixed content."""

from __future__ import annotations

from collections.abc import Mapping

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.ports import CacheUnavailable, DecisionContext, NodeCache, PodCoverage
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.objects import read_objects


class FixedNodeCache(NodeCache):
    """A cluster of any objects, or the reason why it is unavailable. `reads`: the parts that the last call needed.

    pods_version: the resourceVersion of pods that the cache has reached; by default unknown, as for a dump."""

    def __init__(
        self, configuration: BerthConfiguration, cluster: Snapshot | CacheUnavailable, pods_version: str = ""
    ) -> None:
        self._policy, self._cluster = configuration.policy(), cluster
        self._coverage = PodCoverage(pods_version)
        self.reads = NO_PARTS

    @classmethod
    def of(
        cls, configuration: BerthConfiguration, *objects: Mapping[str, object], pods_version: str = ""
    ) -> FixedNodeCache:
        found = read_objects(objects)
        cluster = Snapshot.of(
            found.nodes, found.pods, namespaces=found.namespaces, disruption_budgets=found.disruption_budgets
        )
        return cls(configuration, cluster, pods_version)

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        self.reads = reads
        return DecisionContext(self._policy, self._cluster, coverage=self._coverage)

    def for_trial(self, reads: Parts) -> FixedNodeCache:
        return self

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy


class LateNodeCache(NodeCache):
    """A cluster that changes after some pauses, which are calls of `sleep`."""

    LATE = 3
    """The number of pauses until the change."""

    def __init__(self, first: FixedNodeCache, later: FixedNodeCache) -> None:
        self._first, self._later = first, later
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        return (self._later if len(self.slept) >= self.LATE else self._first).current(deadline, reads)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._first.policy(deadline)
