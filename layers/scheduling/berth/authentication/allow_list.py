"""The client certificates that may call, by serial number: a text of one line each, which people and programs write.

    3f0c…e1                                # scheduler
    77a1…09 until 2026-12-01T00:00:00Z     # scheduler, before its last rotation

Serials are hexadecimal, with or without colons. A line that cannot be read allows nothing: it takes nobody else's
place. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

COMMENT = "#"
_LINE = re.compile(r"(?P<serial>[0-9a-fA-F:]+)(?:\s+until\s+(?P<until>\S+))?")


class Listing(StrEnum):
    """Whether a serial is on the list. EXPIRED: it was, until its time was over."""

    LISTED = "listed"
    EXPIRED = "expired"
    NOT_LISTED = "not-listed"


@dataclass(frozen=True, slots=True)
class Entry:
    """`until`: seconds since the epoch, or None for as long as the line is there. `note` is for people."""

    serial: int
    until: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class AllowList:
    """By serial: until when. `unreadable`: how many lines allow nothing, since nobody can tell what they mean."""

    until: Mapping[int, float | None] = field(default_factory=dict)
    unreadable: int = 0

    def listing(self, serials: Iterable[int], now: float) -> Listing:
        """Of any of these; a serial may be read in more than one way."""
        found = [self.until[serial] for serial in serials if serial in self.until]
        if not found:
            return Listing.NOT_LISTED
        return Listing.LISTED if any(until is None or now < until for until in found) else Listing.EXPIRED


def parse(text: str) -> AllowList:
    """Of two lines with one serial the later one counts."""
    until: dict[int, float | None] = {}
    unreadable = 0
    for line in text.splitlines():
        entry = line.partition(COMMENT)[0].strip()
        if not entry:
            continue
        read = _read(entry)
        if read is None:
            unreadable += 1
        else:
            until[read.serial] = read.until
    return AllowList(until, unreadable)


def text_of(entries: Iterable[Entry]) -> str:
    """The lines that `parse` reads."""
    return "".join(f"{_line(entry)}\n" for entry in entries)


def _read(text: str) -> Entry | None:
    found = _LINE.fullmatch(text)
    digits = found["serial"].replace(":", "") if found else ""
    if found is None or not digits:
        return None
    if found["until"] is None:
        return Entry(int(digits, 16))
    try:
        until = datetime.fromisoformat(found["until"])
    except ValueError:
        return None
    # Without an offset it is not said whose time it is.
    return None if until.tzinfo is None else Entry(int(digits, 16), until.timestamp())


def _line(entry: Entry) -> str:
    until = "" if entry.until is None else f" until {datetime.fromtimestamp(entry.until, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"{entry.serial:x}{until}" + (f"  {COMMENT} {entry.note}" if entry.note else "")
