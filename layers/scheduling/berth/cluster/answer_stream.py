"""An answer that is read line by line while the server still writes it."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

import urllib3

from berth.cluster.unreachable import ApiServerUnreachable, unreachable

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

_PIECE_BYTES = 1 << 16


class AnswerStream:
    """The lines of one answer, for one thread, once. Close it, or leave its `with` block."""

    def __init__(self, response: BaseHTTPResponse, host: str) -> None:
        self._response = response
        self._host = host

    def __iter__(self) -> Iterator[bytes]:
        """Each line as soon as it is complete, however long. Ends where the server ended the answer on purpose.

        Raises ApiServerUnreachable where it broke off or fell silent; half a line is then left out.
        """
        if not self._response.headers.get("transfer-encoding"):
            # Without chunks the end of the answer and a broken connection look alike.
            raise ApiServerUnreachable(f"{self._host} does not stream its answer; is a proxy between us and it?")
        started: list[bytes] = []
        try:
            for piece in self._response.stream(_PIECE_BYTES):
                *ends, rest = piece.split(b"\n")
                for end in ends:
                    yield b"".join([*started, end])
                    started = []
                started.append(rest)
        except urllib3.exceptions.HTTPError as error:
            raise unreachable(error, self._host) from error
        if last := b"".join(started):
            yield last

    def close(self) -> None:
        """End the answer; its connection serves again only if the answer had ended by itself."""
        self._response.close()
        self._response.release_conn()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
