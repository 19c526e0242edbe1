"""API servers that know us by a client certificate: who is admitted, and what is verified."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from berth.cluster.api_server.access import CertificateServer, authorization, client_context
from berth.cluster.api_server.client import ApiServer, ApiServerUnreachable
from tests.builders.certificates import self_signed
from tests.fakes.api_server import kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock


@dataclass(frozen=True)
class Texts:
    certificate: str
    key: str

    @classmethod
    def of(cls, directory: Path, name: str) -> Texts:
        certificate, key = self_signed(directory, name)
        return cls(certificate.read_text(), key.read_text())


@pytest.fixture
def user(tmp_path: Path) -> Texts:
    return Texts.of(tmp_path, "user")


@pytest.fixture
def host(tmp_path: Path, user: Texts) -> Iterator[str]:
    """Yield the address of a server that accepts only this user."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*self_signed(tmp_path, "server"))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(cadata=user.certificate)
    with kubernetes_on_loopback(tls) as kubernetes:
        yield kubernetes.host


def _api(host: str, authority: str, user: Texts) -> ApiServer:
    context = client_context(authority, user.certificate, user.key)
    assert context is not None
    server = CertificateServer(host, context)
    assert authorization(server) == {}
    return ApiServer(server, HandDrivenClock())


def test_server_accepts_the_certificate(tmp_path: Path, host: str, user: Texts) -> None:
    api = _api(host, (tmp_path / "server.crt").read_text(), user)
    assert api.request("GET", "/api/v1/nodes", timeout=5).ok


def test_server_rejects_another_certificate(tmp_path: Path, host: str) -> None:
    api = _api(host, (tmp_path / "server.crt").read_text(), Texts.of(tmp_path, "other"))
    with pytest.raises(ApiServerUnreachable):
        api.request("GET", "/api/v1/nodes", timeout=5)


def test_rejects_server_certified_by_another_authority(tmp_path: Path, host: str, user: Texts) -> None:
    api = _api(host, Texts.of(tmp_path, "other").certificate, user)
    with pytest.raises(ApiServerUnreachable, match=r"certificate of .* is not trusted"):
        api.request("GET", "/api/v1/nodes", timeout=5)


def _encrypted(user: Texts) -> str:
    key = serialization.load_pem_private_key(user.key.encode(), None)
    password = serialization.BestAvailableEncryption(b"secret")
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, password).decode()


@pytest.mark.parametrize("wrong", ["the key of another", "an encrypted key", "no certificate", "no authority"])
def test_returns_no_tls_context_for_an_unusable_certificate_or_key(tmp_path: Path, user: Texts, wrong: str) -> None:
    """It also does not prompt for a password."""
    certificate, key, authority = user.certificate, user.key, None
    match wrong:
        case "the key of another":
            key = Texts.of(tmp_path, "other").key
        case "an encrypted key":
            key = _encrypted(user)
        case "no certificate":
            certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
        case _:
            authority = "none"
    assert client_context(authority, certificate, key) is None
