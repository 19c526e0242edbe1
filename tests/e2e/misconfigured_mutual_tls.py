"""`berth serve` that asks for client certificates, and a scheduler's configuration in a file on the same machine."""

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

from .document_changes import Change, tls
from .misconfiguration import Broken, Options, Said
from .mutual_tls_serve import DAY, Guarded
from .scheduler_config import berth_scheduler_config

SOUND, REVOKED, SHORT = "sound", "revoked", "short"
CLIENTS = {SOUND: 90, REVOKED: 90, SHORT: 5}
"""Days of their certificates."""
NOT_BASE64 = "not base64!"


@dataclass(frozen=True)
class GuardedSetUp:
    """document: what `berth scheduler-config` prints for this address and its client certificate."""

    guarded: Guarded
    directory: Path
    document: Path

    @property
    def options(self) -> Options:
        return (f"--scheduler-config={self.document}", "--timeout=30")

    def changed(self, change: Change) -> Path:
        document: dict[str, Any] = yaml.safe_load(self.document.read_text())
        change(document)
        path = self.directory / "changed.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    def files(self, name: str) -> tuple[Path, Path]:
        """Of one of CLIENTS."""
        [issued] = self.guarded.directory.record().find(name)
        return self.guarded.directory.files(issued)


def issue_clients(directory: CertificateDirectory) -> None:
    """All that will call."""
    now = datetime.now(UTC)
    for name, days in CLIENTS.items():
        directory.issue(name, now, days * DAY)
    directory.revoke(REVOKED, now)


def guarded_set_up(guarded: Guarded, directory: Path) -> GuardedSetUp:
    found = GuardedSetUp(guarded, directory, directory / "scheduler.yaml")
    options = (f"--url={guarded.url_prefix}", "--http-timeout=29s", *guarded.options(*found.files(SOUND)))
    found.document.write_text(berth_scheduler_config(*options))
    return found


def configured(change: Change) -> Callable[[GuardedSetUp], AbstractContextManager[Options]]:
    """With another configuration."""
    return lambda sound: _configured(sound, change)


@contextmanager
def _configured(sound: GuardedSetUp, change: Change) -> Iterator[Options]:
    yield (f"--scheduler-config={sound.changed(change)}",)


@contextmanager
def _with(sound: GuardedSetUp, certificate: Path, key: Path) -> Iterator[Options]:
    with _configured(sound, tls(certFile=str(certificate), keyFile=str(key))) as options:
        yield options


def client(name: str) -> Callable[[GuardedSetUp], AbstractContextManager[Options]]:
    """With the certificate of another of CLIENTS."""
    return lambda sound: _with(sound, *sound.files(name))


@contextmanager
def _stranger(sound: GuardedSetUp) -> Iterator[Options]:
    with _with(sound, *self_signed(sound.directory, "stranger", ends=90 * DAY)) as options:
        yield options


CLIENT, SERVER = CheckName.CLIENT_CERTIFICATE, CheckName.SERVER_CERTIFICATE
CASES: tuple[Broken[GuardedSetUp], ...] = (
    Broken(
        "a revoked certificate",
        {CLIENT: Said("not authorized", "allow-list")},
        client(REVOKED),
    ),
    Broken(
        "a certificate of another authority",
        {CLIENT: Said("the server rejects it", "the CA that Berth trusts")},
        _stranger,
    ),
    Broken(
        "no certificate",
        {CLIENT: Said("as if it required one", "tlsConfig.certFile")},
        configured(tls(certFile=None, keyFile=None)),
    ),
    Broken(
        "a certificate that is soon over",
        {CLIENT: Said("expires in", "renew it", Result.WARNING)},
        client(SHORT),
    ),
    Broken(
        "a certificate without its key",
        {CheckName.TLS_CONFIG: Said("does not start", "both certFile and keyFile")},
        configured(tls(keyFile=None)),
    ),
    Broken(
        "a certificate that nobody can read",
        {CheckName.CREDENTIALS: Said("not base64", "berth scheduler-config")},
        configured(tls(certFile=None, keyFile=None, certData=NOT_BASE64, keyData=NOT_BASE64)),
    ),
    Broken(
        "no CA for the server's certificate",
        {SERVER: Said("is signed by an untrusted authority", "caFile")},
        configured(tls(caFile=None)),
    ),
    Broken(
        "the certificate of another server",
        {SERVER: Said("for another host", "serverName")},
        configured(tls(serverName="berth.example.com")),
    ),
    Broken(
        "a server that nobody verifies",
        {CheckName.VERIFICATION: Said("anyone on the network path can impersonate Berth", "CA")},
        configured(tls(insecure=True)),
    ),
)
