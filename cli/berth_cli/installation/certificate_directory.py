"""The directory of one certificate authority.

    ca.crt              the authority's certificate; for the trust store and berth serve --client-ca
    ca.key              its private key (0600); never copied or printed
    NAME-SERIAL.crt     a client certificate; NAME-SERIAL.key is its private key (0600)
    certificates.json   the record of all client certificates
    allow-list          the serials of allowed clients; for berth serve --allow-list

Certificates and keys are never overwritten. A certificate is accepted once its serial is on the allow-list. The
allow-list is written last, so an interrupted command never allows a client that is not on record.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Self

import click
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from berth.authentication.allow_list import AllowListEntry, format_entries
from berth_cli.installation.key_pair import InvalidKeyPair, KeyPair, new_authority, new_client, read_key_pair

_SECRET, _PUBLIC, _DIRECTORY = 0o600, 0o644, 0o700


class CertificateError(click.ClickException):
    """The operation failed. The message states the cause and the remedy."""


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

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    serial: str
    not_after: AwareDatetime
    retires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None

    @property
    def stem(self) -> str:
        """The base name of the certificate's files."""
        return f"{self.name}-{self.serial[:8]}"

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
    """All issued certificates, in the order of issue."""

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
            AllowListEntry(
                int(each.serial, 16), None if each.retires_at is None else each.retires_at.timestamp(), note=each.name
            )
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
        return self.path / f"{issued.stem}.crt", self.path / f"{issued.stem}.key"

    def create(self, cluster: str, now: datetime, lifetime: timedelta) -> KeyPair:
        """Create an authority. Raises CertificateError if the directory already has one."""
        if self.authority_file.exists() or self.authority_key_file.exists():
            raise CertificateError(f"{self.path} already has an authority; use another --directory for a new one")
        self.path.mkdir(mode=_DIRECTORY, parents=True, exist_ok=True)
        authority = new_authority(cluster, now, lifetime)
        _write_new(self.authority_key_file, authority.key_pem, _SECRET)
        _write_new(self.authority_file, authority.certificate_pem, _PUBLIC)
        self._save(CertificateRecord(), now)
        return authority

    def issue(self, name: str, now: datetime, lifetime: timedelta) -> IssuedCertificate:
        """Issue a client's first certificate. Raises CertificateError if the client already has one."""
        record = self.record()
        if record.active(name, now) is not None:
            raise CertificateError(
                f"{name} already has a certificate; replace it with: berth certificates rotate {name}"
            )
        return self._issue(record, name, now, lifetime)

    def rotate(self, name: str, now: datetime, lifetime: timedelta, overlap: timedelta) -> IssuedCertificate:
        """Issue a new certificate; the previous one stays allowed for the overlap. Raises CertificateError."""
        record = self.record()
        previous = record.active(name, now)
        if previous is None:
            raise CertificateError(
                f"{name} has no certificate to replace; issue one with: berth certificates issue {name}"
            )
        return self._issue(record.with_times(previous, retires_at=now + overlap), name, now, lifetime)

    def revoke(self, name_or_serial: str, now: datetime) -> tuple[IssuedCertificate, ...]:
        """Revoke all certificates of a client, or one by its serial. Raises CertificateError if it is not found."""
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
        """Rewrite the allow-list without expired certificates. Raises CertificateError."""
        _replace(self.allow_list_file, format_entries(self.record().allow_list_entries(now)).encode())

    def _issue(self, record: CertificateRecord, name: str, now: datetime, lifetime: timedelta) -> IssuedCertificate:
        authority = self._authority()
        if now + lifetime > authority.certificate.not_valid_after_utc:
            until = authority.certificate.not_valid_after_utc
            raise CertificateError(
                f"the authority expires on {until:%Y-%m-%d}, before the certificate would; use fewer --days"
            )
        pair = new_client(name, authority, now, lifetime)
        issued = IssuedCertificate(
            name=name,
            serial=f"{pair.certificate.serial_number:x}",
            not_after=pair.certificate.not_valid_after_utc,
        )
        certificate, key = self.files(issued)
        _write_new(key, pair.key_pem, _SECRET)
        _write_new(certificate, pair.certificate_pem, _PUBLIC)
        self._save(CertificateRecord(certificates=(*record.certificates, issued)), now)
        return issued

    def _authority(self) -> KeyPair:
        try:
            return read_key_pair(self.authority_file.read_bytes(), self.authority_key_file.read_bytes())
        except InvalidKeyPair as error:
            raise CertificateError(f"{self.authority_file}, {self.authority_key_file}: {error}") from error

    def _save(self, record: CertificateRecord, now: datetime) -> None:
        _replace(self._record_file, record.model_dump_json(indent=2).encode() + b"\n")
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
