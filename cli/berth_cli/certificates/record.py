"""What is known of the certificates that an authority has given out: names, serials, and until when each may call."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict

from berth.authentication.allow_list import Entry


class State(StrEnum):
    """RETIRING: replaced, and still allowed for a while."""

    ACTIVE = "active"
    RETIRING = "retiring"
    RETIRED = "retired"
    REVOKED = "revoked"
    EXPIRED = "expired"


class Issued(BaseModel):
    """A client certificate. `serial` is hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    serial: str
    not_after: AwareDatetime
    retires_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None

    @property
    def stem(self) -> str:
        """Of its files' names."""
        return f"{self.name}-{self.serial[:8]}"

    def state(self, now: datetime) -> State:
        """What has become of it."""
        if self.revoked_at is not None:
            return State.REVOKED
        if now >= self.not_after:
            return State.EXPIRED
        if self.retires_at is None:
            return State.ACTIVE
        return State.RETIRING if now < self.retires_at else State.RETIRED


class Record(BaseModel):
    """All of them, in the order in which they were made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    certificates: tuple[Issued, ...] = ()

    def with_issued(self, issued: Issued) -> Self:
        """And one more."""
        return self.model_copy(update={"certificates": (*self.certificates, issued)})

    def active(self, name: str, now: datetime) -> Issued | None:
        """The one that a client of this name is to use now."""
        found = [each for each in self.certificates if each.name == name and each.state(now) is State.ACTIVE]
        return found[-1] if found else None

    def named(self, name_or_serial: str) -> tuple[Issued, ...]:
        """All of that name, or the one with that serial."""
        serial = name_or_serial.replace(":", "").lower().lstrip("0")
        return tuple(each for each in self.certificates if each.name == name_or_serial or each.serial == serial)

    def retiring(self, issued: Issued, at: datetime) -> Self:
        """One of them ends at that time."""
        return self._changed(issued, retires_at=at)

    def revoking(self, issued: Issued, at: datetime) -> Self:
        """One of them has ended."""
        return self._changed(issued, revoked_at=at)

    def entries(self, now: datetime) -> list[Entry]:
        """Those that may call."""
        return [
            Entry(
                int(each.serial, 16), None if each.retires_at is None else each.retires_at.timestamp(), note=each.name
            )
            for each in self.certificates
            if each.state(now) in (State.ACTIVE, State.RETIRING)
        ]

    def _changed(self, issued: Issued, **fields: datetime) -> Self:
        changed = issued.model_copy(update=fields)
        return self.model_copy(
            update={
                "certificates": tuple(changed if each.serial == issued.serial else each for each in self.certificates)
            }
        )
