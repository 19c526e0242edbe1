"""The limits of a server: times, sizes, and the memory of requests and responses in flight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for a server's connections. Times in seconds, sizes in bytes.

    `head_seconds`: from the connection or the first byte of a request to the end of its header; also for the TLS
    handshake. `body_seconds`: from there to the end of the body. `write_seconds`: until the client has the response.
    `keep_alive_seconds`: between requests; longer than the 90 s for which Go's HTTP client keeps an idle connection.
    `connections`: the maximum number of connections. `bytes_in_flight`: bodies and responses of all requests together.
    """

    head_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    keep_alive_seconds: int = 120
    connections: int = 256
    head_bytes: int = 64 * 1024
    request_bytes: int = 32_000_000
    body_bytes: int = 10_000_000
    bytes_in_flight: int = 32_000_000
    pipelined_requests: int = 8


SPARE_FILES = 256
"""The number of open files besides the callers' connections, such as connections to the API server and to tables."""


def allow_open_files(connections: int) -> Iterator[str]:
    """Raise this process's limit of open files for these connections. Yields a warning if the hard limit is lower."""
    import resource  # POSIX only

    needed = connections + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        yield (
            f"this process may have {allowed} open files, and {connections} connections need more: raise the hard "
            "limit (ulimit -Hn), or set gangs.maxMembers to less"
        )


NO_ROOM = "the requests and answers under way use all the memory allowed for them"


class Holder(Protocol):
    """A connection whose request or response is in memory."""

    def interrupt(self, status: int, error: str) -> None:
        """End the request with this response. If a response is being sent already, stop sending it."""


class BytesInFlight:
    """A memory limit for all requests together. Thread-safe. Above the limit, the server ends the oldest of those
    requests whose client still sends the body or reads the response. So slow clients do not lock out clients that send
    and read without delay.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._total, self._lock = limit, 0, Lock()
        self._sizes: dict[Holder, int] = {}
        self._waiting: dict[Holder, None] = {}

    def hold(self, holder: Holder, size: int, *, waits: bool) -> bool:
        """Set the bytes that this connection holds, and whether it waits for its client. Returns False if the total is
        above the limit, and no other connection can be ended."""
        with self._lock:
            self._total += size - self._sizes.get(holder, 0)
            self._sizes[holder] = size
            if waits:
                self._waiting.setdefault(holder)
            else:
                self._waiting.pop(holder, None)
            while self._total > self._limit:
                oldest = next((each for each in self._waiting if each is not holder), None)
                if oldest is None:
                    return False
                self._release(oldest)
                oldest.interrupt(503, NO_ROOM)
            return True

    def release(self, holder: Holder) -> None:
        """Release all bytes of this connection."""
        with self._lock:
            self._release(holder)

    def _release(self, holder: Holder) -> None:
        self._waiting.pop(holder, None)
        self._total -= self._sizes.pop(holder, 0)
