"""Certificates and keys: the fields that API Gateway, Go and OpenSSL evaluate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from berth_cli.installation.key_pair import InvalidKeyPair, KeyPair, new_authority, new_client, read_key_pair

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEAR = timedelta(days=365)


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return new_authority("my-cluster", NOW, 10 * YEAR)


@pytest.fixture(scope="module")
def client(authority: KeyPair) -> KeyPair:
    return new_client("scheduler", authority, NOW, YEAR)


def verify(client: KeyPair, authority: KeyPair, at: datetime) -> None:
    PolicyBuilder().store(Store([authority.certificate])).time(at).build_client_verifier().verify(
        client.certificate, []
    )


def test_client_certificate_verifies_against_its_authority(client: KeyPair, authority: KeyPair) -> None:
    verify(client, authority, NOW)


@pytest.mark.parametrize("at", [NOW - timedelta(minutes=6), NOW + YEAR + timedelta(seconds=1)])
def test_client_certificate_fails_outside_its_validity(client: KeyPair, authority: KeyPair, at: datetime) -> None:
    with pytest.raises(VerificationError):
        verify(client, authority, at)


def test_client_certificate_is_for_client_authentication_only(client: KeyPair) -> None:
    extensions = client.certificate.extensions
    usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    key_usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (key_usage.critical, key_usage.value.digital_signature, key_usage.value.key_cert_sign) == (True, True, False)
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_authority_cannot_sign_authorities(authority: KeyPair) -> None:
    extensions = authority.certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.digital_signature) == (True, False)


def test_serials_and_keys_are_random(authority: KeyPair) -> None:
    """Serials have 159 bits: they cannot be guessed and do not collide."""
    made = [new_client("scheduler", authority, NOW, YEAR) for _ in range(8)]
    assert len({each.certificate.serial_number for each in made}) == 8
    assert max(each.certificate.serial_number for each in made).bit_length() > 140
    assert len({each.key_pem for each in made}) == 8


def test_keys_use_p256_and_sha256(authority: KeyPair, client: KeyPair) -> None:
    for pair in (authority, client):
        assert isinstance(pair.key.curve, ec.SECP256R1)
        assert pair.certificate.signature_hash_algorithm is not None
        assert pair.certificate.signature_hash_algorithm.name == "sha256"
        assert pair.certificate.version is x509.Version.v3


@pytest.mark.parametrize("which", ["certificate", "key", "another's key"])
def test_rejects_key_that_does_not_match_certificate(client: KeyPair, authority: KeyPair, which: str) -> None:
    certificate = b"x" if which == "certificate" else client.certificate_pem
    key = {"key": b"x", "another's key": authority.key_pem}.get(which, client.key_pem)
    with pytest.raises(InvalidKeyPair):
        read_key_pair(certificate, key)
