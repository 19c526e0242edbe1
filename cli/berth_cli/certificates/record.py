"""The record of issued client certificates: name, serial, expiry, retirement and revocation."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict

from berth.authentication.allow_list import AllowListEntry


class CertificateState(StrEnum):
    """RETIRING: replaced by a rotation and still allowed during the overlap. RETIRED: after the overlap."""

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
        """Base name of its files."""
        return f"{self.name}-{self.serial[:8]}"

    def state(self, now: datetime) -> CertificateState:
        """The state at this time."""
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

    def with_issued(self, issued: IssuedCertificate) -> Self:
        """A record with one more certificate."""
        return self.model_copy(update={"certificates": (*self.certificates, issued)})

    def active(self, name: str, now: datetime) -> IssuedCertificate | None:
        """The certificate that the client should use now; None if it has none."""
        found = [each for each in self.certificates if each.name == name and each.state(now) is CertificateState.ACTIVE]
        return found[-1] if found else None

    def find(self, name_or_serial: str) -> tuple[IssuedCertificate, ...]:
        """All certificates of this name, or the one with this serial."""
        serial = name_or_serial.replace(":", "").lower().lstrip("0")
        return tuple(each for each in self.certificates if each.name == name_or_serial or each.serial == serial)

    def with_retirement(self, issued: IssuedCertificate, at: datetime) -> Self:
        """A record in which this certificate retires at that time."""
        return self._with_fields(issued, retires_at=at)

    def with_revocation(self, issued: IssuedCertificate, at: datetime) -> Self:
        """A record in which this certificate is revoked at that time."""
        return self._with_fields(issued, revoked_at=at)

    def allowed(self, now: datetime) -> tuple[IssuedCertificate, ...]:
        """All certificates that are valid now."""
        valid = (CertificateState.ACTIVE, CertificateState.RETIRING)
        return tuple(each for each in self.certificates if each.state(now) in valid)

    def allow_list_entries(self, now: datetime) -> list[AllowListEntry]:
        """Allow-list entries of all certificates that are valid now."""
        return [
            AllowListEntry(
                int(each.serial, 16), None if each.retires_at is None else each.retires_at.timestamp(), note=each.name
            )
            for each in self.allowed(now)
        ]

    def _with_fields(self, issued: IssuedCertificate, **fields: datetime) -> Self:
        changed = issued.model_copy(update=fields)
        return self.model_copy(
            update={
                "certificates": tuple(changed if each.serial == issued.serial else each for each in self.certificates)
            }
        )
