"""The adapters that the settings select; building them does not call the API server."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from berth.cluster.kubernetes_cluster import KubernetesCluster, KubernetesObjectQueue
from berth.cluster.kubernetes_pods import KubernetesBinder
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.runtime.cluster import connect
from berth.runtime.cluster_settings import BindSettings, ClusterSettings, WatcherMode, WatcherSettings
from berth.scheduling.configuration.document import BerthConfiguration, WakeUp
from berth.upkeep.wake_up import NoSchedulingQueue, SchedulingQueue
from tests.builders.certificates import self_signed
from tests.builders.kubeconfigs import kubeconfig_for

POLICY = BerthConfiguration().policy()


@pytest.fixture
def settings(tmp_path: Path) -> ClusterSettings:
    return ClusterSettings.from_environ({"BERTH_KUBECONFIG": str(kubeconfig_for("https://127.0.0.1:1", tmp_path))})


def test_watcher_and_bind_share_one_dump(tmp_path: Path) -> None:
    """Otherwise bind would write to another cluster than the watcher lists."""
    dump = {"BERTH_CLUSTER_DUMP": str(tmp_path / "dump.yaml")}
    for_watcher = connect(WatcherSettings.from_environ(dump | {"BERTH_CACHE_TABLE": "t"}))
    for_bind = connect(BindSettings.from_environ(dump))
    watched: object = for_watcher.cluster(POLICY, WatcherMode.CONTINUOUS)
    assert watched is for_bind.binder
    assert isinstance(for_watcher.queue(WakeUp.OBJECT), NoSchedulingQueue)


def test_reads_kubeconfig_without_calling_the_server(settings: ClusterSettings) -> None:
    cluster = connect(settings)
    assert isinstance(cluster.binder, KubernetesBinder)
    assert connect(settings) is cluster


def test_reports_missing_kubeconfig_as_unavailable_and_reads_it_again(tmp_path: Path) -> None:
    settings = ClusterSettings.from_environ({"BERTH_KUBECONFIG": str(tmp_path / "kubeconfig")})
    with pytest.raises(ClusterUnavailable, match="No such file"):
        connect(settings)
    kubeconfig_for("https://127.0.0.1:1", tmp_path)
    assert isinstance(connect(settings).binder, KubernetesBinder)


@pytest.mark.parametrize(("mode", "lists"), [(WatcherMode.CONTINUOUS, False), (WatcherMode.PERIODIC, True)])
def test_watcher_mode_selects_watch_or_list(settings: ClusterSettings, mode: WatcherMode, lists: bool) -> None:
    cluster = connect(settings).cluster(POLICY, mode)
    assert isinstance(cluster, KubernetesCluster)
    assert cluster.lists_first is lists


@pytest.mark.parametrize(
    ("wake_up", "kind"), [(WakeUp.OBJECT, KubernetesObjectQueue), (WakeUp.NONE, NoSchedulingQueue)]
)
def test_configuration_selects_wake_up_target(
    settings: ClusterSettings, wake_up: WakeUp, kind: type[SchedulingQueue]
) -> None:
    assert isinstance(connect(settings).queue(wake_up), kind)


def test_eks_cluster_does_not_need_a_secret(tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path, "ca")
    settings = ClusterSettings.from_environ(
        {
            "BERTH_EKS_CLUSTER": "prod",
            "BERTH_EKS_ENDPOINT": "https://0123.gr7.eu-central-1.eks.amazonaws.com",
            "BERTH_EKS_CERTIFICATE_AUTHORITY": b64encode(certificate.read_bytes()).decode(),
            "AWS_REGION": "eu-central-1",
        }
    )
    assert isinstance(connect(settings).binder, KubernetesBinder)


def test_names_remedy_if_the_eks_endpoint_is_missing() -> None:
    settings = ClusterSettings.from_environ({"BERTH_EKS_CLUSTER": "prod", "AWS_REGION": "eu-central-1"})
    with pytest.raises(
        ClusterUnavailable, match="EKS: endpoint is missing; see the output of aws eks describe-cluster"
    ):
        connect(settings)
