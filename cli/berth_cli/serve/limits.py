"""Limits of the local server, so that no client can take its memory or its connections."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PAYLOAD_BYTES = 10_000_000
"""Payload limit of API Gateway; larger requests get status 413 without a function call."""


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
