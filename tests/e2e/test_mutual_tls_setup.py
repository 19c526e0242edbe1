"""Mutual TLS from `berth certificates` to kube-scheduler, with the output of scheduler-config and of doctor."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from berth.authentication.authorizer import MAX_AGE_SECONDS

from .berth.label_priority import priority
from .berth.mutual_tls_serve import DAY, MutualTLSServe, serve_with_mutual_tls
from .berth.scheduler_config import berth_scheduler_config, mount_volumes
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.manifests import apply_manifests
from .misconfigured.doctor import berth_doctor

NAME = "berth-mutual-tls"
NAMESPACE = "kube-system"
ALLOW_LIST_SECONDS = MAX_AGE_SECONDS + 10


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MutualTLSServe]:
    with serve_with_mutual_tls(control_plane, tmp_path_factory.mktemp("mutual-tls")) as server:
        yield server


def test_printed_manifests_place_pod_and_have_no_findings(
    server: MutualTLSServe, cluster: Cluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    files = server.directory.files(server.directory.issue("scheduler", datetime.now(UTC), 90 * DAY))
    printed = berth_scheduler_config(
        f"--url={server.url_prefix}", f"--second-scheduler={NAME}", *server.options(*files)
    )
    documents = list(yaml.safe_load_all(printed))
    apply_manifests(KubernetesApi(control_plane.credentials()), documents)
    container = mount_volumes(documents, tmp_path)
    node = cluster.create_node("node", priority(10))

    account = control_plane.service_account(NAMESPACE, NAME)
    with control_plane.scheduler(container.configuration, account, container.flags):
        assert cluster.wait_until_assigned(cluster.create_pod("web", scheduler=NAME)) == node

    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(printed)
    # Each function reads the allow-list again after 30 s, and healthz has read it before this certificate was issued.
    allowed_by = time.monotonic() + ALLOW_LIST_SECONDS
    while (diagnosis := berth_doctor(f"--scheduler-config={manifests}", *server.options(*files))).bad:
        assert time.monotonic() < allowed_by, diagnosis.findings
    assert diagnosis.result("client-certificate") == diagnosis.result("filterVerb") == {"ok"}
