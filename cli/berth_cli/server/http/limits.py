"""Limits of a server: times, sizes, and the memory that requests and answers take while they are under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds, sizes in bytes.

    `head_seconds`: from the connection or the first byte of a request to the end of its header; also for the TLS
    handshake. `body_seconds`: from there to the end of the body. `write_seconds`: without room in the client's window.
    `keep_alive_seconds`: between requests; longer than the 90 s for which Go's HTTP client keeps an idle connection.
    `connections`: open at a time. `bytes_in_flight`: bodies and answers of all requests together.
    """

    head_seconds: float = 10.0
    body_seconds: float = 20.0
    write_seconds: float = 30.0
    keep_alive_seconds: int = 120
    connections: int = 256
    head_bytes: int = 64 * 1024
    request_bytes: int = 32_000_000
    bytes_in_flight: int = 32_000_000
    pipelined_requests: int = 8


SPARE_FILES = 256
"""Open files beside the connections of callers: those to the API server and to tables among them."""


def allow_open_files(connections: int) -> Iterator[str]:
    """Let this process have as many open files as these connections need. Yields a warning if it may not."""
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
    """A limit for all requests together.

    If it is reached, the oldest request whose client is being waited for ends: one that has not sent its body, or has
    not read its answer. So a client that sends its request and reads its answer at once is not locked out by others.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._total = 0
        self._waiting: dict[Share, None] = {}

    def make_room(self, share: Share, more: int) -> bool:
        """Add to the share. Returns False if no other request can end, so that there is no room."""
        while self._total + more > self._most:
            victim = next((waiting for waiting in self._waiting if waiting is not share), None)
            if victim is None:
                return False
            victim.end()
        self.add(share, more)
        return True

    def add(self, share: Share, more: int) -> None:
        """Add to the share, even beyond the limit: what exists already."""
        share.size += more
        self._total += more

    def release(self, share: Share) -> None:
        """Release all bytes of the share."""
        self._total -= share.size
        share.size = 0

    def wait_for_client(self, share: Share, *, waiting: bool) -> None:
        """Return whether the share may end so that others have room."""
        self._waiting.pop(share, None)
        if waiting:
            self._waiting[share] = None


class Share:
    """A request's part of the bytes in flight. `on_end` stops the request."""

    def __init__(self, bytes_in_flight: BytesInFlight) -> None:
        self._bytes_in_flight = bytes_in_flight
        self.size = 0
        self.is_ended = False
        self._on_end: Callable[[], None] = lambda: None

    def wait_for_client(self, on_end: Callable[[], None]) -> None:
        """Allow, from now on, that the request is ended."""
        self._on_end = on_end
        self._bytes_in_flight.wait_for_client(self, waiting=True)

    def stop_waiting(self) -> None:
        """Keep the request until it is released."""
        self._bytes_in_flight.wait_for_client(self, waiting=False)

    def grow(self, more: int) -> bool:
        """Return whether there is room for so many bytes more."""
        return self._bytes_in_flight.make_room(self, more)

    def shrink_to_nothing(self) -> None:
        """Hold nothing for now."""
        self._bytes_in_flight.release(self)

    def replace(self, size: int) -> None:
        """Hold the answer instead of the request."""
        self._bytes_in_flight.release(self)
        if not self._bytes_in_flight.make_room(self, size):
            self._bytes_in_flight.add(self, size)

    def release(self) -> None:
        """Hold nothing."""
        self.stop_waiting()
        self._bytes_in_flight.release(self)

    def end(self) -> None:
        """Stop the request and release its bytes."""
        self.is_ended = True
        self.release()
        self._on_end()


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Application(Protocol):
    """An ASGI application with the limits of its connections."""

    @property
    def limits(self) -> Limits: ...
    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]: ...
