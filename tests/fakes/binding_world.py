"""Concurrent binds with rules about other pods, without threads: a published cache, the log, and the API server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import pytest

from berth.bind.announcing import Announcements
from berth.bind.answer import bind
from berth.bind.gang.barrier import GangBarrier
from berth.bind.rules import BindRules
from berth.configuration.store import Configurations
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindResult
from berth.ledger.announcements import Announcement, AnnouncementLog, AnnouncementReader
from berth.nodecache.binds_under_way import BegunBinds, BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.pods import DEFAULT_SCHEDULER, Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.builders.pods import pod_with
from tests.fakes.published import PublishedCluster

ZONE = "topology.kubernetes.io/zone"
FULL = BerthConfiguration.model_validate({"profile": "full"})
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"

Answer = Callable[[Binding], Created | Refused | Unanswered]


SCHEDULERS = frozenset({DEFAULT_SCHEDULER, "batch"})


class World(PodBinder):
    """Pods that must not share a node, a published cache without them, and the API server.

    Node a is in zone 1, node b in zone 2. Each pod may have its own spec; all share the labels.
    """

    def __init__(
        self,
        configuration: BerthConfiguration = FULL,
        log: AnnouncementLog | None = None,
        time_limit: TimeLimit = NO_TIME_LIMIT,
    ) -> None:
        self.log = log or InMemoryAnnouncementLog()
        self.published = PublishedCluster()
        self.publish_nodes({"node-a": "1", "node-b": "2"})
        reader = NodeCacheReader(self.published.table, SnapshotView(), lambda seconds: None)
        store = InMemoryConfigurationStore(self.published.item)
        configurations = Configurations(store, lambda: configuration, time_limit=time_limit)
        self.begun = BegunBinds()

        def cache(under_way: BindsUnderWay, *, latest_only: bool) -> WarmNodeCache:
            table, clock = self.published.table, self.published.clock
            return WarmNodeCache(table, reader, configurations, clock, pytest.fail, under_way, latest_only=latest_only)

        self.cache = cache(BindsUnderWay(None, AnnouncementReader(self.log)), latest_only=True)
        """The cache of bind."""
        under_way = BindsUnderWay(None, AnnouncementReader(self.log), begun=self.begun)
        self.verbs_cache = cache(under_way, latest_only=False)
        self.answer: Answer = lambda binding: Created()
        self.version = "7"
        self.labels: Mapping[str, str] = {}
        self.waits: list[float] = []
        """The waits of binds that found their position taken, in seconds."""
        self.specs: dict[str, Mapping[str, Any]] = {}
        self.now = 0.0
        """The time that has passed for binds, in seconds."""
        ids = count(1)
        self._announcements = Announcements(
            self.log, self.cache, lambda: f"attempt-{next(ids)}", self.published.clock.wall, self._wait, lambda: 0.5
        )

    def publish_nodes(self, zones: Mapping[str, str]) -> None:
        self.published.publish("nodes", [node_object(name, zone) for name, zone in zones.items()])

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def bind(
        self,
        name: str,
        on: str = "node-a",
        seconds: float = 4.0,
        namespace: str = "default",
        *,
        announces: bool = True,
        gangs: GangBarrier | None = None,
    ) -> BindResult:
        """Run one call of bind. announces: False for a configuration without rules about other pods."""
        deadline = Deadline(seconds, lambda: self.now)
        rules = BindRules(announcements=self._announcements if announces else None, gangs=gangs, schedulers=SCHEDULERS)
        return bind(Binding(namespace, name, f"uid-{name}", on), self, deadline, rules)

    def announced(self) -> list[tuple[int, str, bool]]:
        return [(each.position, each.pod.name, each.withdrawn) for each in self.log.read(1)]

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        return self.answer(binding)

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod:
        content = self.content(pod_name, namespace)
        return FoundPod(f"uid-{pod_name}", "", self.version, False, content)

    def content(self, pod_name: str, namespace: str = "default") -> dict[str, Any]:
        spec = self.specs.get(pod_name, {"affinity": APART})
        return pod_with(pod_name, {"app": "db", **self.labels}, namespace=namespace, **spec)


def node_object(name: str, zone: str) -> Mapping[str, object]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, ZONE: zone}},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


SCORES_ALONE = BerthConfiguration.model_validate(
    {"profile": "one", "definitions": {"one": {"plugins": {"enabled": [{"name": "NodeResourcesBalancedAllocation"}]}}}}
)


class TakenLog(InMemoryAnnouncementLog):
    """A log in which another bind takes the first `times` positions."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def append(self, mine: Announcement) -> bool:
        if self._times:
            self._times -= 1
            super().append(announcement(mine.position, f"other-{mine.position}", "node-c", attempt="another"))
        return super().append(mine)
