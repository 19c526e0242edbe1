"""`berth serve` with mutual TLS and a directory of `berth certificates`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from berth_cli.installation.certificate_directory import CertificateDirectory, IssuedCertificate
from tests.builders.certificates import self_signed
from tests.e2e.kubernetes.control_plane import ControlPlane
from tests.e2e.kubernetes.scheduler_configuration import ClientTLS, ExtenderConfiguration, filter_prioritize_bind

from .berth_serve import MutualTLS
from .identities import serve

DAY = timedelta(days=1)


@dataclass(frozen=True)
class MutualTLSServe:
    """The server's address, its certificate, and the directory of the client certificates."""

    url_prefix: str
    server_certificate: Path
    directory: CertificateDirectory

    def extender(self, client: IssuedCertificate) -> ExtenderConfiguration:
        """Return the extender entry of a scheduler with this client certificate."""
        certificate, key = self.directory.files(client)
        tls = ClientTLS(ca_file=self.server_certificate, certificate=certificate, key=key)
        return replace(filter_prioritize_bind(self.url_prefix), tls=tls)


@contextmanager
def serve_with_mutual_tls(control_plane: ControlPlane, home: Path) -> Iterator[MutualTLSServe]:
    certificate, key = self_signed(home, "server", ends=90 * DAY)
    directory = CertificateDirectory(home / "certificates")
    directory.create("e2e", datetime.now(UTC) - 10 * DAY, 365 * DAY)
    own = directory.files(directory.issue("e2e", datetime.now(UTC), DAY))
    tls = MutualTLS(certificate, key, directory.authority_file, directory.allow_list_file, *own)
    with serve(control_plane, home, tls=tls) as berth:
        yield MutualTLSServe(berth.url_prefix, certificate, directory)
