"""The allow-list: the serial numbers of the client certificates that may call, one a line.

    3f0c…e1                                # scheduler
    77a1…09 until 2026-12-01T00:00:00Z     # scheduler, before its last rotation

Serial numbers are hexadecimal, of 8 bytes or more, with or without colons. A malformed line allows nothing and does not
affect other lines. Pure.

A client certificate is in the gateway's event, `requestContext.authentication.clientCert`. The gateway has verified the
chain and the key. It does not check revocation, and it checks the validity only when a connection begins.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from berth.authentication.outcomes import AuthorizerOutcome

COMMENT = "#"
_LINE = re.compile(r"(?P<serial>[0-9a-fA-F:]+)(?:\s+until\s+(?P<until>\S+))?")

MIN_SERIAL = 1 << 56
"""The smallest serial of 8 bytes. The gateway writes serials in more than one notation, so a shorter one could be read
as another client's; and a short serial is no random one."""


@dataclass(frozen=True, slots=True)
class AllowListEntry:
    """until: seconds since the epoch; None: as long as the line is there. note: a comment for people."""

    serial: int
    until: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class AllowList:
    """until: by serial number; None: as long as the line is there. malformed: the number of malformed lines."""

    until: Mapping[int, float | None] = field(default_factory=dict)
    malformed: int = 0

    def status(self, serials: Iterable[int], now: float) -> AuthorizerOutcome:
        """The best status of these serial numbers: a certificate's serial may be read in two ways. EXPIRED: its line
        has a time that has passed."""
        found = [self.until[serial] for serial in serials if serial in self.until]
        if not found:
            return AuthorizerOutcome.NOT_LISTED
        is_allowed = any(until is None or now < until for until in found)
        return AuthorizerOutcome.ALLOWED if is_allowed else AuthorizerOutcome.EXPIRED


def parse(text: str) -> AllowList:
    """Read the text. The last line of a serial number counts."""
    until: dict[int, float | None] = {}
    malformed = 0
    for line in text.splitlines():
        entry = line.partition(COMMENT)[0].strip()
        if not entry:
            continue
        read = _read(entry)
        if read is None:
            malformed += 1
        else:
            until[read.serial] = read.until
    return AllowList(until, malformed)


def format_entries(entries: Iterable[AllowListEntry]) -> str:
    """The text with these entries, for `parse`."""
    return "".join(f"{_line(entry)}\n" for entry in entries)


def _read(text: str) -> AllowListEntry | None:
    found = _LINE.fullmatch(text)
    digits = found["serial"].replace(":", "") if found else ""
    if found is None or not digits:
        return None
    serial = int(digits, 16)
    if serial < MIN_SERIAL:
        return None
    if found["until"] is None:
        return AllowListEntry(serial)
    try:
        until = datetime.fromisoformat(found["until"])
    except ValueError:
        return None
    # A time without an offset is ambiguous.
    return None if until.tzinfo is None else AllowListEntry(serial, until.timestamp())


def _line(entry: AllowListEntry) -> str:
    until = "" if entry.until is None else f" until {datetime.fromtimestamp(entry.until, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{entry.serial:x}{until}" + (f"  {COMMENT} {entry.note}" if entry.note else "")


_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """serials: all numbers that the text may mean. Times are seconds since the epoch.

    AWS documents hexadecimal digits with colons, but its examples have decimal digits. Serial numbers are random, so
    the second reading of one does not equal another.
    """

    serials: frozenset[int]
    not_before: float
    not_after: float


def read(event: Mapping[str, object]) -> ClientCertificate | AuthorizerOutcome:
    """NO_CREDENTIALS: the request has no certificate. UNREADABLE_CREDENTIALS: serial or validity is malformed."""
    found: object = event
    for key in ("requestContext", "authentication", "clientCert"):
        found = found.get(key) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or not found:
        return AuthorizerOutcome.NO_CREDENTIALS
    validity = found.get("validity")
    serials = _serials(found.get("serialNumber"))
    if not serials or not isinstance(validity, Mapping):
        return AuthorizerOutcome.UNREADABLE_CREDENTIALS
    try:
        not_before, not_after = (
            float(ssl.cert_time_to_seconds(str(validity.get(key)))) for key in ("notBefore", "notAfter")
        )
    except ValueError:
        return AuthorizerOutcome.UNREADABLE_CREDENTIALS
    return ClientCertificate(serials, not_before, not_after)


def check(certificate: ClientCertificate, allowed: AllowList, now: float) -> AuthorizerOutcome:
    """Whether the certificate is valid now and on the list. now: seconds since the epoch."""
    if not certificate.not_before <= now < certificate.not_after:
        return AuthorizerOutcome.EXPIRED
    return allowed.status(certificate.serials, now)


def _serials(text: object) -> frozenset[int]:
    if not isinstance(text, str):
        return frozenset()
    digits = text.replace(":", "")
    if not _HEXADECIMAL.fullmatch(digits):
        return frozenset()
    found = {int(digits, 16)}
    if _DECIMAL.fullmatch(text):
        found.add(int(text))
    return frozenset(found)
