"""A directory with everything of one authority.

    ca.crt              the authority; in the trust store, and for berth serve --client-ca
    ca.key              its key (0600); nothing copies it or prints it
    NAME-SERIAL.crt     a client certificate, and NAME-SERIAL.key, its key (0600)
    certificates.json   which there are, and what has become of each
    allow-list          the serials that may call; for berth serve --allow-list

Certificates and keys are written once and never again. A certificate counts from when it is on the allow-list, which is
written last: whatever is interrupted, nobody may call who is not on record.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from berth.authentication.allow_list import text_of
from berth_cli.certificates.key_pair import KeyPair, NotAKeyPair, new_authority, new_client, read_key_pair
from berth_cli.certificates.record import Issued, Record, State

_SECRET, _PUBLIC, _DIRECTORY = 0o600, 0o644, 0o700


class Refused(Exception):
    """Nothing was done; the message says why, and what to do instead."""


@dataclass(frozen=True, slots=True)
class CertificateDirectory:
    """Times come in as arguments, with an offset."""

    path: Path

    @property
    def authority_file(self) -> Path:
        """The authority's certificate."""
        return self.path / "ca.crt"

    @property
    def authority_key_file(self) -> Path:
        """Its key."""
        return self.path / "ca.key"

    @property
    def allow_list_file(self) -> Path:
        """The serials that may call."""
        return self.path / "allow-list"

    def files(self, issued: Issued) -> tuple[Path, Path]:
        """Certificate and key."""
        return self.path / f"{issued.stem}.crt", self.path / f"{issued.stem}.key"

    def create(self, cluster: str, now: datetime, lifetime: timedelta) -> KeyPair:
        """A new authority. Raises Refused where there is one."""
        if self.authority_file.exists() or self.authority_key_file.exists():
            raise Refused(f"{self.path} has an authority already; give another --directory for a new one")
        self.path.mkdir(mode=_DIRECTORY, parents=True, exist_ok=True)
        authority = new_authority(cluster, now, lifetime)
        _write_new(self.authority_key_file, authority.key_pem, _SECRET)
        _write_new(self.authority_file, authority.certificate_pem, _PUBLIC)
        self._keep(Record(), now)
        return authority

    def issue(self, name: str, now: datetime, lifetime: timedelta) -> Issued:
        """A client's first certificate. Raises Refused where the client has one."""
        record = self.record()
        if record.active(name, now) is not None:
            raise Refused(f"{name} has a certificate; replace it with: berth certificates rotate {name}")
        return self._issue(record, name, now, lifetime)

    def rotate(self, name: str, now: datetime, lifetime: timedelta, overlap: timedelta) -> Issued:
        """Another certificate for a client; the one before it may call until the overlap is over. Raises Refused."""
        record = self.record()
        before = record.active(name, now)
        if before is None:
            raise Refused(f"{name} has no certificate to replace; make one with: berth certificates issue {name}")
        return self._issue(record.retiring(before, now + overlap), name, now, lifetime)

    def revoke(self, name_or_serial: str, now: datetime) -> tuple[Issued, ...]:
        """All certificates of a client, or one by its serial. Raises Refused where there is none to revoke."""
        record = self.record()
        found = tuple(each for each in record.named(name_or_serial) if each.state(now) is not State.REVOKED)
        if not found:
            raise Refused(f"{self.path} has no certificate {name_or_serial} that is not revoked already")
        for each in found:
            record = record.revoking(each, now)
        self._keep(record, now)
        return found

    def record(self) -> Record:
        """Raises Refused where there is no authority, or its record cannot be read."""
        if not self.authority_file.exists():
            raise Refused(f"{self.path} has no authority; make one with: berth certificates init")
        try:
            return Record.model_validate_json(self._record_file.read_bytes())
        except OSError as error:
            raise Refused(f"{self._record_file}: {error.strerror}") from error
        except ValidationError as error:
            raise Refused(f"{self._record_file} is not what it was written as; nothing was changed") from error

    def authority_pem(self) -> bytes:
        """The authority's certificate. Raises Refused."""
        try:
            return self.authority_file.read_bytes()
        except OSError:
            raise Refused(f"{self.path} has no authority; make one with: berth certificates init") from None

    def write_allow_list(self, now: datetime) -> None:
        """Anew, without those whose time is over. Raises Refused."""
        _replace(self.allow_list_file, text_of(self.record().entries(now)).encode())

    @property
    def _record_file(self) -> Path:
        return self.path / "certificates.json"

    def _issue(self, record: Record, name: str, now: datetime, lifetime: timedelta) -> Issued:
        authority = self._authority()
        if now + lifetime > authority.certificate.not_valid_after_utc:
            until = authority.certificate.not_valid_after_utc
            raise Refused(f"the authority ends on {until:%Y-%m-%d}, before the certificate would; give fewer --days")
        made = new_client(name, authority, now, lifetime)
        issued = Issued(
            name=name,
            serial=f"{made.certificate.serial_number:x}",
            not_after=made.certificate.not_valid_after_utc,
        )
        certificate, key = self.files(issued)
        _write_new(key, made.key_pem, _SECRET)
        _write_new(certificate, made.certificate_pem, _PUBLIC)
        self._keep(record.with_issued(issued), now)
        return issued

    def _authority(self) -> KeyPair:
        try:
            return read_key_pair(self.authority_file.read_bytes(), self.authority_key_file.read_bytes())
        except OSError as error:
            raise Refused(f"{error.filename}: {error.strerror}") from error
        except NotAKeyPair as error:
            raise Refused(f"{self.authority_file}, {self.authority_key_file}: {error}") from error

    def _keep(self, record: Record, now: datetime) -> None:
        _replace(self._record_file, record.model_dump_json(indent=2).encode() + b"\n")
        self.write_allow_list(now)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Raises Refused where there is such a file: a key that is overwritten is lost."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        raise Refused(f"{path} is there already, and is not overwritten") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes) -> None:
    """All of it or nothing."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)
