"""TLS of the server, and the client certificate in the HTTP API's format."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# Short names of attributes in a distinguished name (RFC 4514).
_ATTRIBUTE_NAMES = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
}


class InvalidTLSFiles(Exception):
    """A file is missing or does not match the others. The message names the file and does not quote its content."""


@dataclass(frozen=True, slots=True)
class TLS:
    """The server's TLS files in PEM. With `client_ca`, the handshake fails without a client certificate of that
    authority."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Return the server's TLS context. Raises InvalidTLSFiles."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # ssl.SSLError is an OSError
            cause = "not a certificate and its key" if isinstance(error, ssl.SSLError) else error.strerror
            raise InvalidTLSFiles(f"--tls-cert {self.certificate}, --tls-key {self.key}: {cause}") from None
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(self.client_ca)
            except OSError as error:
                cause = "contains no certificate" if isinstance(error, ssl.SSLError) else error.strerror
                raise InvalidTLSFiles(f"--client-ca {self.client_ca}: {cause}") from None
        return context


class ReloadedTLS:
    """The TLS context for the next connection of a server, whose files are replaced while it runs."""

    def __init__(self, files: TLS) -> None:
        """Raises InvalidTLSFiles."""
        self._files = files
        self.context = files.context()

    def reload(self, now: float) -> str:
        """Use the files as they are now for new connections. Return the problem of the files; empty if there is none.
        now: seconds since the epoch."""
        files = self._files
        try:
            self.context = files.context()
        except InvalidTLSFiles as error:
            return f"{error}; new connections use the files before"
        # The server's certificate is the first one of its chain. Of several authorities, one suffices.
        return _expiry("--tls-cert", files.certificate, slice(1), now) or (
            "" if files.client_ca is None else _expiry("--client-ca", files.client_ca, slice(None), now)
        )


MAX_NOTICE = timedelta(days=14)


def _expiry(option: str, file: Path, used: slice, now: float) -> str:
    """Return a warning if the last of the used certificates has expired, or expires within a tenth of its validity and
    MAX_NOTICE; otherwise empty."""
    # Imported here: without TLS a server does not need it.
    from cryptography import x509

    last = max(x509.load_pem_x509_certificates(file.read_bytes())[used], key=lambda each: each.not_valid_after_utc)
    end, left = last.not_valid_after_utc, last.not_valid_after_utc - datetime.fromtimestamp(now, UTC)
    if left > min(MAX_NOTICE, (end - last.not_valid_before_utc) / 10):
        return ""
    return f"{option} {file} {'expires' if left > timedelta() else 'has expired'} at {end:%Y-%m-%dT%H:%M:%SZ}"


def client_certificate(connection: ssl.SSLSocket) -> Mapping[str, object] | None:
    """Return the client's verified certificate, as `requestContext.authentication.clientCert` has it; None without
    one."""
    certificate, content = connection.getpeercert(), connection.getpeercert(binary_form=True)
    return (
        _client_certificate_context(certificate, ssl.DER_cert_to_PEM_cert(content)) if certificate and content else None
    )


def _client_certificate_context(certificate: Mapping[str, Any], pem: str) -> dict[str, object]:
    serial = certificate["serialNumber"].lower()
    return {
        "clientCertPem": pem,
        "subjectDN": _distinguished_name(certificate["subject"]),
        "issuerDN": _distinguished_name(certificate["issuer"]),
        "serialNumber": ":".join(serial[i : i + 2] for i in range(0, len(serial), 2)),
        "validity": {"notBefore": certificate["notBefore"], "notAfter": certificate["notAfter"]},
    }


def _distinguished_name(name: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    return ",".join(f"{_ATTRIBUTE_NAMES.get(key, key)}={value}" for part in reversed(name) for key, value in part)
