"""X.509 key pairs: a certificate authority and the client certificates that it signs. Does not access files.

Keys are ECDSA on P-256, which API Gateway and Go both accept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate in PEM, which is public."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The private key in PEM (PKCS #8, unencrypted)."""
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


class InvalidKeyPair(ValueError):
    """The bytes are not a certificate and its private key."""


def read_key_pair(certificate: bytes, key: bytes) -> KeyPair:
    """Read a key pair from PEM. Raises InvalidKeyPair."""
    try:
        parsed_certificate = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        raise InvalidKeyPair("not a certificate and its key in PEM") from None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != parsed_certificate.public_key():
        raise InvalidKeyPair("the key does not match the certificate")
    return KeyPair(parsed_certificate, private)


def new_authority(cluster: str, now: datetime, lifetime: timedelta) -> KeyPair:
    """Create an authority that signs client certificates only. Its name is unique, because a trust store may contain
    two."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = _name(cluster, f"Berth {serial:040x}"[:22])
    builder = (
        _builder(name, name, key, serial, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(certificate_sign=True), critical=True)
    )
    return KeyPair(builder.sign(key, hashes.SHA256()), key)


def new_client(name: str, authority: KeyPair, now: datetime, lifetime: timedelta) -> KeyPair:
    """Create a certificate for TLS clients only (extended key usage clientAuth)."""
    key = ec.generate_private_key(ec.SECP256R1())
    [organization] = authority.certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    subject = _name(str(organization.value), name)
    builder = (
        _builder(subject, authority.certificate.subject, key, x509.random_serial_number(), now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(certificate_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    serial: int,
    now: datetime,
    lifetime: timedelta,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(organization: str, common_name: str) -> x509.Name:
    attributes = {NameOID.ORGANIZATION_NAME: organization, NameOID.COMMON_NAME: common_name}
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes.items()])


def _key_usage(*, certificate_sign: bool) -> x509.KeyUsage:
    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=not certificate_sign,
        key_cert_sign=certificate_sign,
        crl_sign=certificate_sign,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(unused, False),
    )
