"""TLS for the server, which reloads its files while it runs. Converts client certificates to the HTTP API's format."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MAX_NOTICE = timedelta(days=14)


class InvalidTLSFiles(Exception):
    """A file is missing or does not match the others. The message names the file and does not quote its content."""


class TLS:
    """The server's TLS files in PEM, and the context for the next connection. With `client_ca`, the handshake fails
    without a client certificate of that authority."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None = None) -> None:
        """Load the files. Raises InvalidTLSFiles."""
        self._certificate, self._key, self._client_ca = certificate, key, client_ca
        self.context = self._context()

    def reload(self, now: float) -> str:
        """Use the current content of the files for new connections. Return the problem of the files; empty if there is
        none. now: seconds since the epoch."""
        try:
            self.context = self._context()
        except InvalidTLSFiles as error:
            return f"{error}; new connections use the files before"
        # Check only the first certificate of the server's chain. Of several authorities, at least one must be valid.
        return _expiry("--tls-cert", self._certificate, slice(1), now) or (
            "" if self._client_ca is None else _expiry("--client-ca", self._client_ca, slice(None), now)
        )

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        files = f"--tls-cert {self._certificate}, --tls-key {self._key}"
        with _invalid(files, "not a certificate and its key"):
            context.load_cert_chain(self._certificate, self._key)
        if self._client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            with _invalid(f"--client-ca {self._client_ca}", "contains no certificate"):
                context.load_verify_locations(self._client_ca)
        return context


@contextmanager
def _invalid(files: str, problem: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:  # ssl.SSLError is an OSError
        cause = problem if isinstance(error, ssl.SSLError) else error.strerror
        raise InvalidTLSFiles(f"{files}: {cause}") from None


def _expiry(option: str, file: Path, used: slice, now: float) -> str:
    """Return a warning if the certificate that ends last has expired, or if its remaining time is below MAX_NOTICE and
    below a tenth of its validity; otherwise an empty text. used: the certificates to check."""
    # Imported here: without TLS a server does not need it.
    from cryptography import x509

    last = max(x509.load_pem_x509_certificates(file.read_bytes())[used], key=lambda each: each.not_valid_after_utc)
    end, left = last.not_valid_after_utc, last.not_valid_after_utc - datetime.fromtimestamp(now, UTC)
    if left > min(MAX_NOTICE, (end - last.not_valid_before_utc) / 10):
        return ""
    return f"{option} {file} {'expires' if left > timedelta() else 'has expired'} at {end:%Y-%m-%dT%H:%M:%SZ}"


def client_certificate(connection: ssl.SSLSocket) -> Mapping[str, object] | None:
    """Return the fields of the client's verified certificate that the functions read, in the format of
    `requestContext.authentication.clientCert`; None without a certificate."""
    found: Mapping[str, Any] | None = connection.getpeercert()
    if not found:
        return None
    serial = found["serialNumber"].lower()
    return {
        "serialNumber": ":".join(serial[i : i + 2] for i in range(0, len(serial), 2)),
        "validity": {"notBefore": found["notBefore"], "notAfter": found["notAfter"]},
    }
