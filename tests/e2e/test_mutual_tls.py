"""Mutual TLS between a real kube-scheduler and `berth serve` with certificates of `berth certificates`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from .berth.label_priority import priority
from .berth.mutual_tls_serve import DAY, MutualTLSServe, serve_with_mutual_tls
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane, RunScheduler


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MutualTLSServe]:
    with serve_with_mutual_tls(control_plane, tmp_path_factory.mktemp("mutual-tls")) as server:
        yield server


def test_places_pod_with_allowed_client_certificate(
    server: MutualTLSServe, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    node = cluster.create_node("node", priority(10))
    run_scheduler(server.extender(server.directory.issue("scheduler", datetime.now(UTC), DAY)))

    assert cluster.wait_until_assigned(cluster.create_pod("web")) == node
