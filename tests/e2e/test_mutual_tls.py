"""Mutual TLS between a real kube-scheduler and `berth serve` with certificates of `berth certificates`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from berth_cli.installation.certificate_directory import IssuedCertificate

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


def test_rejects_scheduler_without_client_certificate(
    server: MutualTLSServe, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    """The TLS handshake fails: Go reports the alert or the closed connection."""
    assert _failure(server, None, cluster, run_scheduler).startswith(f'Post "{server.url_prefix}/filter": ')


def test_rejects_scheduler_with_revoked_client_certificate(
    server: MutualTLSServe, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    issued = server.directory.issue("revoked", datetime.now(UTC), DAY)
    server.directory.revoke("revoked", datetime.now(UTC))
    wanted = f"failed filter with extender at URL {server.url_prefix}/filter, code 403"
    assert _failure(server, issued, cluster, run_scheduler).startswith(wanted)


def _failure(
    server: MutualTLSServe, issued: IssuedCertificate | None, cluster: Cluster, run_scheduler: RunScheduler
) -> str:
    cluster.create_node("node", priority(10))
    run_scheduler(server.extender(issued))
    pod = cluster.create_pod("web")
    message = cluster.wait_for_failed_scheduling(pod, "")
    assert cluster.state(pod).node is None
    return message
