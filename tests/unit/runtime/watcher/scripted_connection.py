"""A watcher run's connection to a scripted cluster."""

from __future__ import annotations

from berth.nodecache.feed.cluster import Cluster
from berth.pods import PodBinder, ReservedPods
from berth.runtime.cluster import Connection
from berth.runtime.cluster_settings import WatcherMode
from berth.scheduling.configuration.document import WakeUp
from berth.scheduling.policy import Policy
from berth.upkeep.pod_events import PodEventWriter
from berth.upkeep.wake_up import SchedulingQueue
from tests.fakes.cluster import RecordingQueue
from tests.fakes.pod_events import RecordingPodEvents
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster


class ScriptedConnection(Connection):
    """A scripted cluster that has been listed, and a queue that records the woken pods."""

    def __init__(self, *nodes: str, pods: ReservedPods | None = None) -> None:
        """pods: the reserved pods, for a run with a reconciler."""
        self._pods = pods
        self.scripted = ScriptedCluster(EnvironmentClock())
        self.scripted.list_all(*nodes)
        self.recorded = RecordingQueue()
        self.asked: list[object] = []
        self.events = RecordingPodEvents()

    @property
    def binder(self) -> PodBinder:
        raise AssertionError("the watcher binds nothing")

    @property
    def reserved_pods(self) -> ReservedPods:
        assert self._pods is not None, "no reconciler runs"
        return self._pods

    def user(self) -> None:
        raise AssertionError("the watcher need not know who it is")

    def pod_events(self, instance: str) -> PodEventWriter:
        return self.events

    @property
    def ledger_lease(self) -> None:
        raise AssertionError("nothing is counted")

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        self.asked.append(mode)
        return self.scripted

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        self.asked.append(wake_up)
        return self.recorded
