"""The connection to the cluster that the settings name.

Used only by functions that have the layer with the Kubernetes client, which some kubeconfigs need. Code that only the
watcher or a dump needs is imported on first use, so that bind starts without it.
"""

from __future__ import annotations

import os
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from berth.cluster.api_server.access import Access, EksSettings, Server, from_eks, from_service_account
from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_ledger_lease import KubernetesLedgerLease
from berth.cluster.kubernetes_pods import KubernetesBinder
from berth.nodecache.feed.cluster import Cluster, ClusterUnavailable
from berth.runtime.aws_clients import CALLS, aws_client, aws_credentials
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
"""Timeout of the request that asks the API server for the user."""


class Connection(ABC):
    """Connects the ports of bind and the watcher to one cluster. The default methods are for a cluster without an API
    server."""

    @property
    @abstractmethod
    def binder(self) -> PodBinder:
        """Return the port through which bind reads and binds pods."""

    @abstractmethod
    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        """Return the interface with which the watcher reads the parts of the cluster that this policy needs."""

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        """Return the interface with which the watcher wakes waiting pods; `wake_up` selects the implementation."""
        from berth.upkeep.wake_up import NoSchedulingQueue

        return NoSchedulingQueue()

    @property
    @abstractmethod
    def reserved_pods(self) -> ReservedPods:
        """Return the interface with which the watcher reads pods that have reservations."""

    def pod_events(self, instance: str) -> PodEventWriter:
        """Return the interface with which the watcher writes events on pods, as the reporter `instance`."""
        from berth.upkeep.pod_events import NoPodEvents

        return NoPodEvents()

    def user(self) -> Mapping[str, object] | None:
        """Return the function's `userInfo` as the API server reports it; None for a dump. Raises ClusterUnavailable."""
        return None

    @property
    def ledger_lease(self) -> LedgerLease | None:
        """Return the Lease that names the counting store; None if other stores cannot know of the cluster."""
        return None


class KubernetesConnection(Connection):
    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._binder = KubernetesBinder(api)

    @property
    def binder(self) -> PodBinder:
        return self._binder

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        from berth.cluster.field_projection import RequiredFields
        from berth.cluster.kubernetes_cluster import KubernetesCluster

        required, lists_first = RequiredFields.of(policy), mode is WatcherMode.PERIODIC
        return KubernetesCluster(self._api, required, time.time, random.random, lists_first=lists_first)

    def queue(self, wake_up: WakeUp) -> SchedulingQueue:
        from berth.cluster.kubernetes_cluster import KubernetesObjectQueue

        return KubernetesObjectQueue(self._api, time.time) if wake_up is WakeUp.OBJECT else super().queue(wake_up)

    @property
    def reserved_pods(self) -> ReservedPods:
        from berth.cluster.kubernetes_pods import KubernetesReservedPods

        # Use separate connections: a call that hangs there must not delay a publication.
        return KubernetesReservedPods(self._api.separate(), time.time)

    def pod_events(self, instance: str) -> PodEventWriter:
        from berth.cluster.kubernetes_pod_events import KubernetesPodEvents

        return KubernetesPodEvents(self._api.separate(), instance)

    def user(self) -> Mapping[str, object]:
        from berth.cluster.kubernetes_cluster import user_info

        return user_info(self._api, USER_SECONDS)

    @property
    def ledger_lease(self) -> LedgerLease:
        # Share self._api: bind then reuses the connection on which it has read the pod.
        return KubernetesLedgerLease(self._api)


class DumpConnection(Connection):
    def __init__(self, dump: DumpCluster) -> None:
        self._dump = dump

    @property
    def binder(self) -> PodBinder:
        return self._dump

    def cluster(self, policy: Policy, mode: WatcherMode) -> Cluster:
        return self._dump

    @property
    def reserved_pods(self) -> ReservedPods:
        from berth.cluster.dump_cluster import DumpReservedPods

        return DumpReservedPods(self._dump)


def import_kubeconfig(settings: ClusterSettings) -> None:
    """Import the kubeconfig reader if a kubeconfig is set. Call this when the function starts, so that SnapStart's
    snapshot includes the reader."""
    if settings.kubeconfig is not None or settings.kubeconfig_secret:
        from berth.cluster.api_server import kubeconfig  # noqa: F401


@cache
def connect(settings: ClusterSettings) -> Connection:
    """Connect once per warm environment; the first call reads the secret. Raises ClusterUnavailable."""
    if settings.dump is not None:
        return DumpConnection(_dump(settings.dump))
    # Wall time: sockets die while the environment is frozen, but a monotonic clock may stop then.
    return KubernetesConnection(ApiServer(Access(_server(settings)), time.time))


def _server(settings: ClusterSettings) -> Callable[[], Server]:
    """Return the source of the API server's address and credentials. Access calls it again after they are rejected."""
    if settings.kubeconfig is not None or settings.kubeconfig_secret:
        from berth.cluster.api_server import kubeconfig

        if settings.kubeconfig is not None:
            return partial(kubeconfig.from_file, settings.kubeconfig)
        return partial(kubeconfig.from_secret, aws_client("secretsmanager", CALLS), settings.kubeconfig_secret)
    if settings.in_cluster:
        return partial(from_service_account, os.environ, time.time)
    try:
        eks = EksSettings(
            settings.eks_cluster, settings.eks_endpoint, settings.eks_certificate_authority, settings.eks_region
        )
    except ValueError as error:
        raise ClusterUnavailable(f"{error}; see the output of aws eks describe-cluster") from error
    return partial(from_eks, eks, aws_credentials, time.time)


@cache
def _dump(path: Path) -> DumpCluster:
    """Return one cluster per file and process, so that the watcher sees the cluster in which bind binds."""
    from berth.cluster.dump_cluster import DumpCluster

    return DumpCluster(path, time.time)
