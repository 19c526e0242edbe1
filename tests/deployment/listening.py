"""The addresses that a process listens on, read from /proc."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

LISTEN = "0A"  # the state in /proc/net/tcp
TABLES = {"tcp": socket.AF_INET, "tcp6": socket.AF_INET6}


class UnexpectedListener(Exception):
    """A process listens on an address other than the given address."""


def require_only_listener(name: str, pid: int, host: str) -> None:
    """Raises UnexpectedListener if process `pid` accepts connections on another address than `host`."""
    others = listening_addresses(pid) - {host}
    if others:
        raise UnexpectedListener(f"{name} listens on {', '.join(sorted(others))} too")


def listening_addresses(pid: int) -> set[str]:
    """Return the addresses on which process `pid` accepts TCP connections; empty without /proc."""
    process = Path("/proc") / str(pid)
    if not process.exists():
        return set()
    own = set(_socket_inodes(process))
    return {
        _address(row[1], family)
        for table, family in TABLES.items()
        for row in _rows(process / "net" / table)
        if row[3] == LISTEN and row[9] in own
    }


def _socket_inodes(process: Path) -> Iterator[str]:
    for descriptor in (process / "fd").iterdir():
        try:
            target = os.readlink(descriptor)
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            yield target.removeprefix("socket:[").removesuffix("]")


def _rows(table: Path) -> list[list[str]]:
    return [line.split() for line in table.read_text().splitlines()[1:]]


def _address(field: str, family: socket.AddressFamily) -> str:
    """Parse an address: `0100007F:1F90` is 127.0.0.1, as words of four bytes, each in the machine's order."""
    packed = bytes.fromhex(field.partition(":")[0])
    words = [packed[start : start + 4][::-1] for start in range(0, len(packed), 4)]
    return socket.inet_ntop(family, b"".join(words))
