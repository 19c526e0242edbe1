"""`python -m tests.bench.scheduler.null PORT FOLDER`: answers each verb with the lines of its file, by turns.

It has the HTTP server of `berth serve`, made by the same function, so the difference of the two is Berth's share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

from berth_cli.server.http.limits import Limits, Receive, Scope, Send
from berth_cli.server.http.server import create_server, listen
from tests.e2e.kubernetes.loopback import HOST


class NullVerbs:
    """An ASGI application."""

    limits = Limits()

    def __init__(self, answers: Mapping[str, Iterator[bytes]]) -> None:
        """answers: by path."""
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = True
        while more:  # all of the body, as the gateway reads it
            more = (await receive()).get("more_body", False)
        content = next(self._answers[scope["path"]])
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


if __name__ == "__main__":
    FILES = {f"/scheduler/{file.name}": file.read_bytes().splitlines() for file in Path(sys.argv[2]).iterdir()}
    VERBS = NullVerbs({path: cycle(lines) for path, lines in FILES.items()})
    create_server(VERBS).run(sockets=[listen(HOST, int(sys.argv[1]))])
