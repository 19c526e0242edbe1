"""The allow-list: the serial numbers of the accepted client certificates, one per line.

    3f0c…e1 until 2027-11-24T00:00:00Z       # scheduler
    77a1…09 replaced 2026-12-01T00:00:00Z    # scheduler, before its last rotation

A line has no effect after its time: `until` is the certificate's expiry, `replaced` the end of a rotation's overlap.

Serial numbers are hexadecimal, of 8 bytes or more, with or without colons. A malformed line is counted and otherwise
ignored. This module does not do I/O.

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
REPLACED = "replaced"
_LINE = re.compile(rf"(?P<serial>[0-9a-fA-F:]+)(?:\s+(?P<word>until|{REPLACED})\s+(?P<until>\S+))?")

MIN_SERIAL = 1 << 56
"""The smallest serial of 8 bytes. The gateway writes serials in more than one notation, so a shorter serial could be
read as another client's; and a short serial number is not random."""


@dataclass(frozen=True, slots=True)
class AllowListEntry:
    """A line of the allow-list. until: seconds since the epoch, or None if it does not expire. note: the comment.
    is_replaced: the client has a newer certificate."""

    serial: int
    until: float | None = None
    note: str = ""
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class AllowList:
    """The parsed list. until: the expiry by serial number; None: no expiry. malformed: the number of lines that cannot
    be parsed. replaced: the certificates of clients that have a newer certificate."""

    until: Mapping[int, float | None] = field(default_factory=dict)
    malformed: int = 0
    replaced: frozenset[int] = frozenset()

    def first_end(self) -> float | None:
        """Return the earliest expiry of the certificates that are not replaced, in seconds since the epoch; None if
        none of them expires."""
        ends = [end for serial, end in self.until.items() if end is not None and serial not in self.replaced]
        return min(ends, default=None)

    def status(self, serials: Iterable[int], now: float) -> AuthorizerOutcome:
        """Return the best status of these serial numbers: a certificate's serial may be read in two ways. EXPIRED: the
        time in the serial's line has passed."""
        found = [self.until[serial] for serial in serials if serial in self.until]
        if not found:
            return AuthorizerOutcome.NOT_LISTED
        is_allowed = any(until is None or now < until for until in found)
        return AuthorizerOutcome.ALLOWED if is_allowed else AuthorizerOutcome.EXPIRED


def parse(text: str) -> AllowList:
    """Parse the text. If a serial number has several lines, the last one wins."""
    found: dict[int, AllowListEntry] = {}
    malformed = 0
    for line in text.splitlines():
        entry = line.partition(COMMENT)[0].strip()
        if not entry:
            continue
        read = _read(entry)
        if read is None:
            malformed += 1
        else:
            found[read.serial] = read
    replaced = frozenset(serial for serial, read in found.items() if read.is_replaced)
    return AllowList({serial: read.until for serial, read in found.items()}, malformed, replaced)


def format_entries(entries: Iterable[AllowListEntry]) -> str:
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
    if until.tzinfo is None:
        return None
    return AllowListEntry(serial, until.timestamp(), is_replaced=found["word"] == REPLACED)


def _line(entry: AllowListEntry) -> str:
    until = ""
    if entry.until is not None:
        word = REPLACED if entry.is_replaced else "until"
        until = f" {word} {datetime.fromtimestamp(entry.until, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{entry.serial:x}{until}" + (f"  {COMMENT} {entry.note}" if entry.note else "")


_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,64}")
_DECIMAL = re.compile(r"[0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The caller's certificate. Times are seconds since the epoch. serials: all numbers that the text may mean. AWS
    documents hexadecimal digits with colons, but its examples are decimal. Serial numbers are random, so the wrong
    number is not another client's."""

    serials: frozenset[int]
    not_before: float
    not_after: float


def read(event: Mapping[str, object]) -> ClientCertificate | AuthorizerOutcome:
    """Read the certificate from the event. NO_CREDENTIALS: the request does not have a certificate.
    UNREADABLE_CREDENTIALS: the serial number or the validity is malformed."""
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
    """Check that the certificate is valid now and is on the list. now: seconds since the epoch."""
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
