"""TLS of the server, and the client certificate in the HTTP API's format."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

_CLIENT_CERTIFICATE = "berth.client_certificate"

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


def certificate_state(transport: asyncio.Transport) -> dict[str, object]:
    """Return the request state of a connection: its verified client certificate, if there is one."""
    connection = transport.get_extra_info("ssl_object")
    certificate = connection.getpeercert() if connection is not None else None
    if not certificate:
        return {}
    pem = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))
    return {_CLIENT_CERTIFICATE: _client_certificate_context(certificate, pem)}


def client_certificate(scope: MutableMapping[str, Any]) -> Mapping[str, object] | None:
    """Return the value of `requestContext.authentication.clientCert`; None without a client certificate."""
    return cast("Mapping[str, object] | None", scope.get("state", {}).get(_CLIENT_CERTIFICATE))


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
