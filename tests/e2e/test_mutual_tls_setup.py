"""Mutual TLS from end to end: certificates, `berth serve`, what scheduler-config prints, kube-scheduler, and doctor."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from .cluster import Cluster
from .control_plane import ControlPlane
from .doctor import berth_doctor
from .kubernetes_api import KubernetesApi
from .label_priority import priority
from .manifests import apply_manifests
from .mutual_tls_serve import DAY, Guarded, guarded_serve
from .scheduler_config import berth_scheduler_config, mounted

NAME = "berth-guarded"
NAMESPACE = "kube-system"


@pytest.fixture(scope="module")
def guarded(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_serve(control_plane, tmp_path_factory.mktemp("guarded")) as guarded:
        yield guarded


def test_printed_manifests_place_pod_and_have_no_findings(
    guarded: Guarded, cluster: Cluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    files = guarded.directory.files(guarded.directory.issue("scheduler", datetime.now(UTC), 90 * DAY))
    printed = berth_scheduler_config(
        f"--url={guarded.url_prefix}", f"--second-scheduler={NAME}", *guarded.options(*files)
    )
    documents = list(yaml.safe_load_all(printed))
    apply_manifests(KubernetesApi(control_plane.credentials()), documents)
    container = mounted(documents, tmp_path)
    node = cluster.create_node("node", priority(10))

    account = control_plane.service_account(NAMESPACE, NAME)
    with control_plane.scheduler(container.configuration, account, container.flags):
        assert cluster.wait_until_assigned(cluster.create_pod("web", scheduler=NAME)) == node

    manifests = tmp_path / "manifests.yaml"
    manifests.write_text(printed)
    found = berth_doctor(f"--scheduler-config={manifests}", *guarded.options(*files))
    assert not found.bad, found.findings
    assert found.result("client-certificate") == found.result("filterVerb") == {"ok"}
