"""The cluster that the settings name. Imports the Kubernetes client: only for functions that have its layer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import boto3

from berth.cluster import kubeconfig
from berth.cluster.api_server import ApiServer
from berth.cluster.dump import DumpCluster
from berth.cluster.kubernetes_binder import KubernetesBinder
from berth.cluster.kubernetes_nodes import KubernetesNodes
from berth.cluster.kubernetes_queue import KubernetesSchedulingQueue
from berth.extender.ports import PodBinder
from berth.nodecache.cluster import Nodes, NoSchedulingQueue, SchedulingQueue
from berth.runtime.adapters import CALLS
from berth.runtime.settings import ClusterSettings


@dataclass(frozen=True, slots=True)
class Cluster:
    """The ports of one cluster."""

    nodes: Nodes
    binder: PodBinder
    queue: SchedulingQueue


@cache
def connect(settings: ClusterSettings) -> Cluster:
    """Connected once per warm environment, by the first call: it reads the secret. Raises ClusterUnavailable."""
    if settings.dump is not None:
        dump = _dump(settings.dump)
        return Cluster(dump, dump, NoSchedulingQueue())
    if settings.kubeconfig is not None:
        configuration = kubeconfig.from_file(settings.kubeconfig)
    else:
        configuration = kubeconfig.from_secret(boto3.client("secretsmanager", config=CALLS), settings.kubeconfig_secret)
    # Wall time: a monotonic clock stands still while the environment is frozen, and that is what kills sockets.
    api = ApiServer(configuration, time.time)
    return Cluster(KubernetesNodes(api), KubernetesBinder(api), KubernetesSchedulingQueue(api, time.time))


@cache
def _dump(path: Path) -> DumpCluster:
    """One cluster per file and process, so that the watcher sees the cluster in which bind binds."""
    return DumpCluster(path)
