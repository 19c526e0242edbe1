"""TLS of `berth serve`, and the client's certificate as the HTTP API would tell it to a function."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CLIENT_CERTIFICATE = "berth.client_certificate"

# As a distinguished name is written, RFC 4514.
_SHORT = {
    "commonName": "CN",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
}


class TLSInvalid(Exception):
    """The files are not there, or do not belong together. The message says which, and quotes nothing of them."""


@dataclass(frozen=True, slots=True)
class TLS:
    """Files in PEM. With `client_ca` a connection without a certificate of that authority ends in the handshake."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def context(self) -> ssl.SSLContext:
        """For a server. Raises TLSInvalid."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # ssl.SSLError is one
            cause = "they are no certificate and its key" if isinstance(error, ssl.SSLError) else error.strerror
            raise TLSInvalid(f"--tls-cert {self.certificate}, --tls-key {self.key}: {cause}") from None
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            try:
                context.load_verify_locations(self.client_ca)
            except OSError as error:
                cause = "it has no certificate" if isinstance(error, ssl.SSLError) else error.strerror
                raise TLSInvalid(f"--client-ca {self.client_ca}: {cause}") from None
        return context


class HTTPProtocol(HttpToolsProtocol):
    """uvicorn's own, which knows nothing of client certificates."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Keep the certificate that the handshake has verified, for all requests of the connection."""
        super().connection_made(transport)
        connection = transport.get_extra_info("ssl_object")
        certificate = connection.getpeercert() if connection is not None else None
        if certificate:
            pem = ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))
            self.app_state = {**self.app_state, _CLIENT_CERTIFICATE: _told(certificate, pem)}


def client_certificate(scope: MutableMapping[str, Any]) -> Mapping[str, object] | None:
    """`requestContext.authentication.clientCert` of a request, or None where there is no certificate."""
    return cast("Mapping[str, object] | None", scope.get("state", {}).get(_CLIENT_CERTIFICATE))


def _told(certificate: Mapping[str, Any], pem: str) -> dict[str, object]:
    serial = certificate["serialNumber"].lower()
    return {
        "clientCertPem": pem,
        "subjectDN": _name(certificate["subject"]),
        "issuerDN": _name(certificate["issuer"]),
        "serialNumber": ":".join(serial[i : i + 2] for i in range(0, len(serial), 2)),
        "validity": {"notBefore": certificate["notBefore"], "notAfter": certificate["notAfter"]},
    }


def _name(name: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    return ",".join(f"{_SHORT.get(key, key)}={value}" for part in reversed(name) for key, value in part)
