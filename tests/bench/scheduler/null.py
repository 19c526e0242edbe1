"""`python -m tests.bench.scheduler.null PORT FOLDER`: answers each verb with the lines of its file, by turns.

It looks at one thing: the name of a pod that Berth rejects on every node. Such a pod gets the line of the file
`rejected`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

from berth_cli.http_server.asgi import Receive, Scope, Send
from berth_cli.http_server.limits import Limits
from tests.bench.null_extender import answer, body_of, serve
from tests.bench.scheduler.workload import PENDING

REJECTED = "rejected"
_NAMED = f'"name":"{PENDING}'.encode()
_HEAD_BYTES = 200
"""The pod's name is the first field of the first object."""


class NullVerbs:
    """An ASGI application."""

    limits = Limits()

    def __init__(self, answers: Mapping[str, Iterator[bytes]], rejected: bytes) -> None:
        """answers: by path."""
        self._answers, self._rejected = answers, rejected

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        is_rejected = _NAMED in body[:_HEAD_BYTES]
        await answer(send, self._rejected if is_rejected else next(self._answers[scope["path"]]))


if __name__ == "__main__":
    LINES = {file.name: file.read_bytes().splitlines() for file in Path(sys.argv[2]).iterdir()}
    [FOR_REJECTED] = LINES.pop(REJECTED)
    serve(
        NullVerbs({f"/scheduler/{verb}": cycle(lines) for verb, lines in LINES.items()}, FOR_REJECTED), int(sys.argv[1])
    )
