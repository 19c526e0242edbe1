"""Mutual TLS between a real kube-scheduler and `berth serve` with certificates of `berth certificates`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from berth_cli.installation.certificate_directory import CertificateDirectory, IssuedCertificate

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


def _no_certificate(_: MutualTLSServe, __: Path) -> tuple[IssuedCertificate | None, CertificateDirectory | None]:
    return None, None


def _other_authority(_: MutualTLSServe, path: Path) -> tuple[IssuedCertificate | None, CertificateDirectory | None]:
    other = CertificateDirectory(path / "other")
    other.create("e2e", datetime.now(UTC), DAY)
    return other.issue("scheduler", datetime.now(UTC), DAY / 2), other


def _expired(server: MutualTLSServe, _: Path) -> tuple[IssuedCertificate | None, CertificateDirectory | None]:
    return server.directory.issue("late", datetime.now(UTC) - 2 * DAY, DAY), None


def _revoked(server: MutualTLSServe, _: Path) -> tuple[IssuedCertificate | None, CertificateDirectory | None]:
    issued = server.directory.issue("revoked", datetime.now(UTC), DAY)
    server.directory.revoke("revoked", datetime.now(UTC))
    return issued, None


@pytest.mark.parametrize(
    ("client", "cause"),
    [
        pytest.param(_no_certificate, 'Post "{}/filter": ', id="no certificate"),
        pytest.param(_other_authority, 'Post "{}/filter": ', id="other authority"),
        pytest.param(_expired, 'Post "{}/filter": ', id="expired"),
        pytest.param(_revoked, "failed filter with extender at URL {}/filter, code 403", id="revoked"),
    ],
)
def test_rejects_scheduler_without_allowed_client_certificate(
    client: Callable[[MutualTLSServe, Path], tuple[IssuedCertificate | None, CertificateDirectory | None]],
    cause: str,
    server: MutualTLSServe,
    cluster: Cluster,
    run_scheduler: RunScheduler,
    tmp_path: Path,
) -> None:
    """The first three fail in the TLS handshake: Go reports the alert or the closed connection."""
    cluster.create_node("node", priority(10))
    run_scheduler(server.extender(*client(server, tmp_path)))
    pod = cluster.create_pod("web")

    message = cluster.wait_for_failed_scheduling(pod, "")

    assert message.startswith(cause.format(server.url_prefix))
    assert cluster.state(pod).node is None
