"""The directory of one certificate authority.

    ca.crt              the authority's certificate; for the trust store and berth serve --client-ca
    ca.key              its private key (0600); never copied or printed
    NAME-SERIAL.crt     a client certificate; NAME-SERIAL.key is its private key (0600)
    certificates.json   the record of all client certificates
    allow-list          the serials of allowed clients; for berth serve --allow-list

Keys are ECDSA on P-256, which API Gateway and Go both accept. Certificates and keys are never overwritten. A
certificate is accepted once its serial is on the allow-list. The allow-list is written last, so an interrupted command
never allows a client that is not on record.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Self

import click
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from berth.authentication.allow_list import AllowListEntry, format_entries

CLOCK_SKEW = timedelta(minutes=5)
_SECRET, _PUBLIC, _DIRECTORY = 0o600, 0o644, 0o700


class CertificateError(click.ClickException):
    """The operation failed. The message states the cause and the remedy."""


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


class CertificateState(StrEnum):
    """The state of a certificate. RETIRING: replaced by a rotation and still allowed during the overlap. RETIRED: after
    the overlap."""

    ACTIVE = "active"
    RETIRING = "retiring"
    RETIRED = "retired"
    REVOKED = "revoked"
    EXPIRED = "expired"


class IssuedCertificate(BaseModel):
    """A client certificate. `serial` is hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True)

    name: str
    serial: str
    not_after: AwareDatetime
    retires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None

    @property
    def ends_at(self) -> datetime:
        """The end of the certificate or, after a rotation, of the overlap."""
        return self.not_after if self.retires_at is None else min(self.not_after, self.retires_at)

    def state(self, now: datetime) -> CertificateState:
        """Return the state at this time."""
        if self.revoked_at is not None:
            return CertificateState.REVOKED
        if now >= self.not_after:
            return CertificateState.EXPIRED
        if self.retires_at is None:
            return CertificateState.ACTIVE
        return CertificateState.RETIRING if now < self.retires_at else CertificateState.RETIRED


class CertificateRecord(BaseModel):
    """All issued certificates, the oldest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    certificates: tuple[IssuedCertificate, ...] = ()

    def active(self, name: str, now: datetime) -> IssuedCertificate | None:
        """Return the certificate that the client should use now; None if it does not have one."""
        found = [each for each in self.certificates if each.name == name and each.state(now) is CertificateState.ACTIVE]
        return found[-1] if found else None

    def find(self, name_or_serial: str) -> tuple[IssuedCertificate, ...]:
        """Return all certificates of this name, or the one with this serial."""
        serial = name_or_serial.replace(":", "").lower().lstrip("0")
        return tuple(each for each in self.certificates if each.name == name_or_serial or each.serial == serial)

    def with_times(self, issued: IssuedCertificate, **times: datetime) -> Self:
        """Return a record in which this certificate has another `retires_at` or `revoked_at`."""
        changed = issued.model_copy(update=times)
        found = tuple(changed if each.serial == issued.serial else each for each in self.certificates)
        return self.model_copy(update={"certificates": found})

    def allow_list_entries(self, now: datetime) -> list[AllowListEntry]:
        """Return the allow-list entries of all certificates that are valid now."""
        valid = (CertificateState.ACTIVE, CertificateState.RETIRING)
        return [
            AllowListEntry(int(each.serial, 16), each.ends_at.timestamp(), each.name, each.retires_at is not None)
            for each in self.certificates
            if each.state(now) in valid
        ]


@dataclass(frozen=True, slots=True)
class CertificateDirectory:
    """The directory of one certificate authority. `path`: the directory. All times are arguments, timezone-aware."""

    path: Path

    @property
    def authority_file(self) -> Path:
        """The path of the authority's certificate."""
        return self.path / "ca.crt"

    @property
    def authority_key_file(self) -> Path:
        """The path of the authority's private key."""
        return self.path / "ca.key"

    @property
    def allow_list_file(self) -> Path:
        """The path of the allow-list."""
        return self.path / "allow-list"

    @property
    def _record_file(self) -> Path:
        return self.path / "certificates.json"

    def files(self, issued: IssuedCertificate) -> tuple[Path, Path]:
        """Return the paths of the certificate and its key."""
        stem = f"{issued.name}-{issued.serial[:8]}"
        return self.path / f"{stem}.crt", self.path / f"{stem}.key"

    def create(self, cluster: str, now: datetime, lifetime: timedelta) -> None:
        """Create an authority. Raises CertificateError if the directory already has one."""
        if self.authority_file.exists() or self.authority_key_file.exists():
            raise CertificateError(f"{self.path} already has an authority; use another --directory for a new one")
        self.path.mkdir(mode=_DIRECTORY, parents=True, exist_ok=True)
        authority = new_authority(cluster, now, lifetime)
        _write_new(self.authority_key_file, authority.key_pem, _SECRET)
        _write_new(self.authority_file, authority.certificate_pem, _PUBLIC)
        self._save(CertificateRecord(), now)

    def issue(
        self, name: str, now: datetime, lifetime: timedelta, overlap: timedelta | None = None
    ) -> IssuedCertificate:
        """Issue a client's first certificate. With an overlap: issue another certificate; the previous certificate
        stays allowed for this time. Raises CertificateError."""
        record, authority = self.record(), self._authority()
        previous = record.active(name, now)
        if previous is not None and overlap is not None:
            record = record.with_times(previous, retires_at=now + overlap)
        elif previous is not None:
            raise CertificateError(
                f"{name} already has a certificate; replace it with: berth certificates rotate {name}"
            )
        elif overlap is not None:
            raise CertificateError(
                f"{name} has no certificate to replace; issue one with: berth certificates issue {name}"
            )
        until = authority.certificate.not_valid_after_utc
        if now + lifetime > until:
            raise CertificateError(
                f"the authority expires on {until:%Y-%m-%d}, before the certificate would; use fewer --days"
            )
        pair = new_client(name, authority, now, lifetime)
        serial = f"{pair.certificate.serial_number:x}"
        issued = IssuedCertificate(name=name, serial=serial, not_after=pair.certificate.not_valid_after_utc)
        certificate, key = self.files(issued)
        _write_new(key, pair.key_pem, _SECRET)
        _write_new(certificate, pair.certificate_pem, _PUBLIC)
        self._save(CertificateRecord(certificates=(*record.certificates, issued)), now)
        return issued

    def revoke(self, name_or_serial: str, now: datetime) -> tuple[IssuedCertificate, ...]:
        """Revoke all certificates of a client, or one certificate by its serial. Raises CertificateError if there is
        none to revoke."""
        record = self.record()
        found = tuple(each for each in record.find(name_or_serial) if each.state(now) is not CertificateState.REVOKED)
        if not found:
            raise CertificateError(
                f"{self.path} has no unrevoked certificate {name_or_serial}; list them with: berth certificates list"
            )
        for each in found:
            record = record.with_times(each, revoked_at=now)
        self._save(record, now)
        return found

    def record(self) -> CertificateRecord:
        """Read the record. Raises CertificateError if there is no authority or the record is unreadable."""
        if not self.authority_file.exists():
            raise CertificateError(f"{self.path} has no authority; create one with: berth certificates init")
        try:
            return CertificateRecord.model_validate_json(self._record_file.read_bytes())
        except ValidationError as error:
            raise CertificateError(
                f"{self._record_file} is not a valid certificate record; nothing was changed"
            ) from error

    def authority_pem(self) -> bytes:
        """Return the authority's certificate in PEM. Raises CertificateError."""
        self.record()
        return self.authority_file.read_bytes()

    def write_allow_list(self, now: datetime) -> None:
        """Rewrite the allow-list with all certificates that are valid now. Raises CertificateError."""
        _replace(self.allow_list_file, format_entries(self.record().allow_list_entries(now)).encode())

    def _authority(self) -> KeyPair:
        try:
            certificate = x509.load_pem_x509_certificate(self.authority_file.read_bytes())
            key = serialization.load_pem_private_key(self.authority_key_file.read_bytes(), None)
        except (ValueError, TypeError):
            raise CertificateError(f"{self.path}: ca.crt and ca.key are not a certificate and its key in PEM") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise CertificateError(f"{self.authority_key_file} does not match {self.authority_file}")
        return KeyPair(certificate, key)

    def _save(self, record: CertificateRecord, now: datetime) -> None:
        _replace(self._record_file, record.model_dump_json(indent=2, by_alias=True).encode() + b"\n")
        self.write_allow_list(now)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a new file. Raises CertificateError if it exists: an overwritten key is lost."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise CertificateError(f"{path} exists and is not overwritten") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes) -> None:
    """Replace the file atomically."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    temporary.replace(path)


def new_authority(cluster: str, now: datetime, lifetime: timedelta) -> KeyPair:
    """Create an authority that signs client certificates only. Its name is unique, because a trust store may contain
    two."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(cluster, f"Berth {x509.random_serial_number():040x}"[:22])
    builder = (
        _builder(name, name, key, now, lifetime)
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
        _builder(subject, authority.certificate.subject, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(certificate_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
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
