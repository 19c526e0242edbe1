"""What `berth certificates list` shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from berth_cli.certificates.directory import CertificateDirectory
from berth_cli.certificates.record import Issued


def as_text(directory: CertificateDirectory, now: datetime) -> Iterator[str]:
    """One line each, under a heading."""
    rows = [("NAME", "STATE", "ENDS", "SERIAL")]
    rows += [(each.name, each.state(now).value, _ends(each), each.serial) for each in directory.record().certificates]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


def as_json(directory: CertificateDirectory, now: datetime) -> list[dict[str, object]]:
    """The same for programs; times in ISO 8601."""
    return [
        {
            "name": each.name,
            "serial": each.serial,
            "state": each.state(now),
            "notAfter": each.not_after,
            "retiresAt": each.retires_at,
            "revokedAt": each.revoked_at,
            "certificate": str(directory.files(each)[0]),
            "key": str(directory.files(each)[1]),
        }
        for each in directory.record().certificates
    ]


def _ends(issued: Issued) -> str:
    ends = issued.revoked_at or min(filter(None, (issued.not_after, issued.retires_at)))
    return f"{ends:%Y-%m-%dT%H:%MZ}"
