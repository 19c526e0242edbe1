"""Limits of a server: times, sizes, and the memory of requests and responses in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import RLock


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for a server's connections. Times in seconds, sizes in bytes.

    `head_seconds`: from the connection or the first byte of a request to the end of its header; also for the TLS
    handshake. `body_seconds`: from there to the end of the body. `write_seconds`: until the client has the response.
    `keep_alive_seconds`: between requests; longer than the 90 s for which Go's HTTP client keeps an idle connection.
    `connections`: the maximum of open connections. `bytes_in_flight`: bodies and responses of all requests together.
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
"""Open files in addition to the callers' connections, such as connections to the API server and to tables."""


def allow_open_files(connections: int) -> Iterator[str]:
    """Raise this process's limit of open files for these connections. Yields a warning if this is not permitted."""
    import resource  # POSIX only

    needed = connections + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        if allowed < needed:
            yield (
                f"this process may have {allowed} open files, and {connections} connections need more: raise the hard "
                "limit (ulimit -Hn), or set gangs.maxMembers to less"
            )


class BytesInFlight:
    """A memory limit for all requests together. Thread-safe.

    At the limit, the oldest request that waits for its client is ended: its client has not sent the whole body, or has
    not read the response. So clients that send and read without delay are not locked out by others.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.total = limit, 0
        self.waiting: dict[Share, None] = {}
        self.lock = RLock()


class Share:
    """The bytes in flight of one request."""

    def __init__(self, bytes_in_flight: BytesInFlight) -> None:
        self._all = bytes_in_flight
        self.size = 0
        self.is_ended = False
        self._on_end: Callable[[], None] = lambda: None

    def wait_for_client(self, on_end: Callable[[], None]) -> None:
        """Allow the server to end the request from now on; `on_end` stops it."""
        with self._all.lock:
            self._on_end = on_end
            self._all.waiting.pop(self, None)
            self._all.waiting[self] = None

    def stop_waiting(self) -> None:
        """No longer allow the server to end the request."""
        with self._all.lock:
            self._all.waiting.pop(self, None)

    def grow(self, more: int) -> bool:
        """Add this number of bytes. Returns False if there is no room and no other request can be ended."""
        with self._all.lock:
            while self._all.total + more > self._all.limit:
                victim = next((waiting for waiting in self._all.waiting if waiting is not self), None)
                if victim is None:
                    return False
                victim.end()
            self._add(more)
            return True

    def replace(self, size: int) -> None:
        """Set the share to the response's size instead of the request's, even beyond the limit: it is in memory."""
        with self._all.lock:
            self.release()
            if not self.grow(size):
                self._add(size)

    def _add(self, more: int) -> None:
        self.size += more
        self._all.total += more

    def release(self) -> None:
        """Release all bytes; the request is not ended any more."""
        with self._all.lock:
            self._all.waiting.pop(self, None)
            self._all.total -= self.size
            self.size = 0

    def end(self) -> None:
        """Stop the request and release its bytes."""
        self.is_ended = True
        self.release()
        self._on_end()
