"""`python -m tests.bench.scheduler.null PORT FOLDER`: answers each verb with the lines of its file, by turns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench.null_extender import NullExtender, Receive, Send, serve


class NullVerbs:
    """An ASGI application. It reads a request to its end, and does not look at it."""

    def __init__(self, answers: Mapping[str, Iterator[NullExtender]]) -> None:
        """answers: by path."""
        self._answers = answers

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await next(self._answers[scope["path"]])(scope, receive, send)


if __name__ == "__main__":
    FILES = list(Path(sys.argv[2]).iterdir())
    ANSWERS = {
        f"/scheduler/{file.name}": cycle([NullExtender(line) for line in file.read_bytes().splitlines()])
        for file in FILES
    }
    serve(NullVerbs(ANSWERS), int(sys.argv[1]))
