"""The cluster that the settings name.

Only for functions that have the layer with the Kubernetes client, which some kubeconfigs need. What only the watcher
does, and what a dump needs, is imported where it is asked for: bind starts without it.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from berth.cluster.api_server.access import Access, Server, from_service_account
from berth.cluster.api_server.client import ApiServer
from berth.cluster.api_server.eks import EksSettings, from_eks
from berth.cluster.kubernetes_ledger_lease import KubernetesLedgerLease
from berth.cluster.kubernetes_pods import KubernetesBinder
from berth.nodecache.feed.cluster import Cluster, ClusterUnavailable
from berth.runtime.adapters import CALLS
from berth.runtime.aws_clients import aws_client, aws_credentials
from berth.runtime.cluster_settings import ClusterSettings, WatcherMode
from berth.scheduling.configuration.document import WakeUp

if TYPE_CHECKING:
    from berth.cluster.dump_cluster import DumpCluster
    from berth.ledger.lease import LedgerLease
    from berth.pods import PodBinder, ReservedPods
    from berth.scheduling.policy import Policy
    from berth.upkeep.pod_events import PodEventWriter
    from berth.upkeep.wake_up import SchedulingQueue

USER_SECONDS = 5.0
"""For the request that asks for the user."""


class Connection(Protocol):
    """One cluster, through the ports of those who need it."""

    @property
    def binder(self) -> PodBinder:
        """For bind."""

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        """For the watcher: what this policy reads of the cluster."""

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        """For the watcher: whom to wake, and how."""

    @property
    def reserved_pods(self) -> ReservedPods:
        """For the watcher: pods that something is reserved for."""

    def pod_events(self, instance: str) -> PodEventWriter:
        """For the watcher: events on pods, which `instance` reports."""

    def user(self) -> Mapping[str, object] | None:
        """As whom the API server knows the caller (`userInfo`); None for a file. Raises ClusterUnavailable."""

    @property
    def ledger_lease(self) -> LedgerLease | None:
        """For bind and the watcher: which store counts. None: no other store can know of the cluster."""


class KubernetesConnection(Connection):
    """An API server."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._binder = KubernetesBinder(api)

    @property
    def binder(self) -> PodBinder:
        return self._binder

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        from berth.cluster.field_projection import RequiredFields
        from berth.cluster.kubernetes_cluster import KubernetesCluster, ListedCluster

        cluster = KubernetesCluster(self._api, RequiredFields.of(policy), time.time, random.random)
        return ListedCluster(cluster) if mode is WatcherMode.PERIODIC else cluster

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        from berth.cluster.kubernetes_queue import KubernetesObjectQueue, KubernetesPodQueue
        from berth.upkeep.wake_up import NoSchedulingQueue

        match wake_up:
            case WakeUp.OBJECT:
                return KubernetesObjectQueue(self._api, time.time)
            case WakeUp.POD:
                return KubernetesPodQueue(self._api, time.time)
            case WakeUp.NONE:
                return NoSchedulingQueue()

    @property
    def reserved_pods(self) -> ReservedPods:
        from berth.cluster.kubernetes_pods import KubernetesReservedPods

        # Connections of its own: what hangs there must not hold up a publication.
        return KubernetesReservedPods(self._api.separate(), time.time)

    def pod_events(self, instance: str) -> PodEventWriter:
        from berth.cluster.kubernetes_pod_events import KubernetesPodEvents

        return KubernetesPodEvents(self._api.separate(), instance)

    def user(self) -> Mapping[str, object]:
        from berth.cluster.kubernetes_cluster import user_info

        return user_info(self._api, USER_SECONDS)

    @property
    def ledger_lease(self) -> LedgerLease:
        # bind uses the connection that it has read the pod on.
        return KubernetesLedgerLease(self._api)


class DumpConnection(Connection):
    """A file."""

    def __init__(self, dump: DumpCluster) -> None:
        self._dump = dump

    @property
    def binder(self) -> PodBinder:
        return self._dump

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        return self._dump

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        from berth.upkeep.wake_up import NoSchedulingQueue

        return NoSchedulingQueue()

    @property
    def reserved_pods(self) -> ReservedPods:
        from berth.cluster.dump_cluster import DumpReservedPods

        return DumpReservedPods(self._dump)

    def pod_events(self, instance: str) -> PodEventWriter:
        from berth.upkeep.pod_events import NoPodEvents

        return NoPodEvents()

    def user(self) -> None:
        return None

    @property
    def ledger_lease(self) -> None:
        return None


def import_kubeconfig(settings: ClusterSettings) -> None:
    """Import what reads a kubeconfig, if there is one. While a function starts: then SnapStart's snapshot has it."""
    if settings.kubeconfig is not None or settings.kubeconfig_secret:
        from berth.cluster.api_server import kubeconfig  # noqa: F401


@cache
def connect(settings: ClusterSettings) -> Connection:
    """Connected once per warm environment, by the first call: it reads the secret. Raises ClusterUnavailable."""
    if settings.dump is not None:
        return DumpConnection(_dump(settings.dump))
    # Wall time: a monotonic clock stands still while the environment is frozen, and that is what kills sockets.
    return KubernetesConnection(ApiServer(Access(_server(settings)), time.time))


def _server(settings: ClusterSettings) -> Callable[[], Server]:
    """Where credentials come from; asked again when the API server no longer accepts what it gave."""
    if settings.kubeconfig is not None or settings.kubeconfig_secret:
        return _of_kubeconfig(settings.kubeconfig, settings.kubeconfig_secret)
    if settings.in_cluster:
        return partial(from_service_account, os.environ, time.time)
    try:
        eks = EksSettings(
            settings.eks_cluster, settings.eks_endpoint, settings.eks_certificate_authority, settings.eks_region
        )
    except ValueError as error:
        raise ClusterUnavailable(f"{error}; see the output of aws eks describe-cluster") from error
    return partial(from_eks, eks, aws_credentials, time.time)


def _of_kubeconfig(file: Path | None, secret: str) -> Callable[[], Server]:
    from berth.cluster.api_server import kubeconfig

    if file is not None:
        return partial(kubeconfig.from_file, file)
    return partial(kubeconfig.from_secret, aws_client("secretsmanager", CALLS), secret)


@cache
def _dump(path: Path) -> DumpCluster:
    """One cluster per file and process, so that the watcher sees the cluster in which bind binds."""
    from berth.cluster.dump_cluster import DumpCluster

    return DumpCluster(path, time.time)
