"""Misconfigurations of `berth serve` with mutual TLS and a scheduler configured by a file on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from berth_cli.certificates.directory import CertificateDirectory
from berth_cli.doctor.findings import CheckName, Result
from tests.builders.certificates import self_signed
from tests.e2e.berth.mutual_tls_serve import DAY, MutualTLSServe
from tests.e2e.berth.scheduler_config import berth_scheduler_config
from tests.e2e.kubernetes.document_changes import Change, tls

from .misconfiguration import ExpectedFinding, Misconfiguration, Options

VALID, REVOKED, EXPIRING = "valid", "revoked", "expiring"
CLIENTS = {VALID: 90, REVOKED: 90, EXPIRING: 5}
"""Validity of the client certificates in days."""
NOT_BASE64 = "not base64!"


@dataclass(frozen=True)
class MutualTLSSetUp:
    """document: the output of `berth scheduler-config` for this address and its client certificate."""

    server: MutualTLSServe
    directory: Path
    document: Path

    @property
    def options(self) -> Options:
        return (f"--scheduler-config={self.document}", "--timeout=15")

    def changed(self, change: Change) -> Path:
        document: dict[str, Any] = yaml.safe_load(self.document.read_text())
        change(document)
        path = self.directory / "changed.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    def files(self, name: str) -> tuple[Path, Path]:
        """Certificate and key of one of CLIENTS."""
        [issued] = self.server.directory.record().find(name)
        return self.server.directory.files(issued)


def issue_clients(directory: CertificateDirectory) -> None:
    """Issue the certificates of CLIENTS and revoke one."""
    now = datetime.now(UTC)
    for name, days in CLIENTS.items():
        directory.issue(name, now, days * DAY)
    directory.revoke(REVOKED, now)


def mutual_tls_set_up(server: MutualTLSServe, directory: Path) -> MutualTLSSetUp:
    found = MutualTLSSetUp(server, directory, directory / "scheduler.yaml")
    options = (f"--url={server.url_prefix}", "--http-timeout=29s", *server.options(*found.files(VALID)))
    found.document.write_text(berth_scheduler_config(*options))
    return found


def with_configuration(change: Change) -> Callable[[MutualTLSSetUp], AbstractContextManager[Options]]:
    """Use a changed configuration."""
    return lambda setup: _configured(setup, change)


@contextmanager
def _configured(setup: MutualTLSSetUp, change: Change) -> Iterator[Options]:
    yield (f"--scheduler-config={setup.changed(change)}",)


@contextmanager
def _with_certificate(setup: MutualTLSSetUp, certificate: Path, key: Path) -> Iterator[Options]:
    with _configured(setup, tls(certFile=str(certificate), keyFile=str(key))) as options:
        yield options


def client(name: str) -> Callable[[MutualTLSSetUp], AbstractContextManager[Options]]:
    """Use the certificate of one of CLIENTS."""
    return lambda setup: _with_certificate(setup, *setup.files(name))


@contextmanager
def _other_authority(setup: MutualTLSSetUp) -> Iterator[Options]:
    with _with_certificate(setup, *self_signed(setup.directory, "other", ends=90 * DAY)) as options:
        yield options


CLIENT, SERVER = CheckName.CLIENT_CERTIFICATE, CheckName.SERVER_CERTIFICATE
CASES: tuple[Misconfiguration[MutualTLSSetUp], ...] = (
    Misconfiguration(
        "revoked certificate",
        {CLIENT: ExpectedFinding("not authorized", "allow-list")},
        client(REVOKED),
    ),
    Misconfiguration(
        "certificate of another authority",
        {CLIENT: ExpectedFinding("the server rejects it", "the CA that Berth trusts")},
        _other_authority,
    ),
    Misconfiguration(
        "no client certificate",
        {CLIENT: ExpectedFinding("as if it required one", "tlsConfig.certFile")},
        with_configuration(tls(certFile=None, keyFile=None)),
    ),
    Misconfiguration(
        "certificate expires soon",
        {CLIENT: ExpectedFinding("expires in", "renew it", Result.WARNING)},
        client(EXPIRING),
    ),
    Misconfiguration(
        "certificate without key",
        {CheckName.TLS_CONFIG: ExpectedFinding("does not start", "both certFile and keyFile")},
        with_configuration(tls(keyFile=None)),
    ),
    Misconfiguration(
        "certificate is not base64",
        {CheckName.CREDENTIALS: ExpectedFinding("not base64", "berth scheduler-config")},
        with_configuration(tls(certFile=None, keyFile=None, certData=NOT_BASE64, keyData=NOT_BASE64)),
    ),
    Misconfiguration(
        "no CA for the server certificate",
        {SERVER: ExpectedFinding("is signed by an untrusted authority", "caFile")},
        with_configuration(tls(caFile=None)),
    ),
    Misconfiguration(
        "server name does not match",
        {SERVER: ExpectedFinding("for another host", "serverName")},
        with_configuration(tls(serverName="berth.example.com")),
    ),
    Misconfiguration(
        "insecure: true",
        {CheckName.VERIFICATION: ExpectedFinding("anyone on the network path can impersonate Berth", "CA")},
        with_configuration(tls(insecure=True)),
    ),
)
