"""Adapters as the settings ask for them; building one reads nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from berth.cluster.dump import DumpCluster
from berth.cluster.kubernetes_binder import KubernetesBinder
from berth.cluster.kubernetes_nodes import KubernetesNodes
from berth.nodecache.cluster import ClusterUnavailable, NoSchedulingQueue
from berth.runtime.cluster import connect
from berth.runtime.settings import BindSettings, ClusterSettings, WatcherSettings
from tests.builders.kubeconfigs import kubeconfig_for


def test_the_watcher_and_bind_see_one_dump(tmp_path: Path) -> None:
    """Else bind would bind in another cluster than the one that is listed."""
    dump = {"BERTH_CLUSTER_DUMP": str(tmp_path / "dump.yaml")}
    for_watcher = connect(WatcherSettings.from_environ(dump | {"BERTH_CACHE_TABLE": "t"}))
    for_bind = connect(BindSettings.from_environ(dump))
    assert isinstance(for_watcher.nodes, DumpCluster)
    assert for_watcher.nodes is for_bind.binder
    assert isinstance(for_bind.queue, NoSchedulingQueue)
    for_bind.queue.wake()


def test_a_kubeconfig_is_read_and_the_server_is_not_asked_yet(tmp_path: Path) -> None:
    settings = ClusterSettings.from_environ({"BERTH_KUBECONFIG": str(kubeconfig_for("https://127.0.0.1:1", tmp_path))})
    cluster = connect(settings)
    assert isinstance(cluster.nodes, KubernetesNodes)
    assert isinstance(cluster.binder, KubernetesBinder)
    assert connect(settings) is cluster


def test_a_kubeconfig_that_is_missing_is_unavailable_and_is_looked_for_again(tmp_path: Path) -> None:
    settings = ClusterSettings.from_environ({"BERTH_KUBECONFIG": str(tmp_path / "kubeconfig")})
    with pytest.raises(ClusterUnavailable, match="No such file"):
        connect(settings)
    kubeconfig_for("https://127.0.0.1:1", tmp_path)
    assert isinstance(connect(settings).nodes, KubernetesNodes)
