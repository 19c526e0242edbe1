"""The output of `berth scheduler-config` on a real API server and a real kube-scheduler."""

from __future__ import annotations

import ssl
from pathlib import Path

import yaml

from tests.builders.certificates import self_signed

from .berth.extender import ExtenderCache
from .berth.identities import serve
from .berth.label_priority import priority
from .berth.recording_proxy import RecordingProxy
from .berth.scheduler_config import berth_scheduler_config, mount_volumes
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import KUBERNETES, ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests

NAME = "berth-second"
NAMESPACE = "kube-system"


def test_second_scheduler_manifests_work_with_mutual_tls(
    cluster: Cluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    server, client = self_signed(tmp_path, "server"), self_signed(tmp_path, "client")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*server)
    tls.load_verify_locations(client[0])
    tls.verify_mode = ssl.CERT_REQUIRED
    gangs = tmp_path / "gangs.yaml"
    gangs.write_text("gangs: {enabled: true}")
    with serve(control_plane, tmp_path) as berth, RecordingProxy(berth.url_prefix, tls) as proxy:
        printed = berth_scheduler_config(
            f"--url={proxy.url_prefix}",
            f"--ca={server[0]}",
            f"--tls-client-cert={client[0]}",
            f"--tls-client-key={client[1]}",
            f"--config={gangs}",
            f"--second-scheduler={NAME}",
            f"--kubeconfig={control_plane.kubeconfig()}",
        )
        assert f"image: registry.k8s.io/kube-scheduler:v{KUBERNETES}." in printed
        documents = list(yaml.safe_load_all(printed))
        apply_manifests(KubernetesApi(control_plane.credentials()), documents)
        container = mount_volumes(documents, tmp_path)
        best, good = cluster.create_node("best", priority(30), cpu="2"), cluster.create_node("good", priority(10))
        ExtenderCache(berth).wait_for_scores({best: 30, good: 10})

        account = control_plane.service_account(NAMESPACE, NAME)
        with control_plane.scheduler(container.configuration, account, container.flags):
            other = cluster.create_pod("other")
            pod = cluster.create_pod("web", scheduler=NAME)

            assert cluster.wait_until_assigned(pod) == best
            assert cluster.state(other).node is None
        assert proxy.verbs(pod) == ["filter", "prioritize", "bind"]
    assert "--feature-gates=SchedulerPopFromBackoffQ=false" in container.flags
