"""`python -m tests.bench.null_extender PORT FILE`: answers every call with the bytes of FILE, and does not look at it.

It has the HTTP server of `berth serve`, made by the same function, so the difference of the two is Berth's share.
"""

from __future__ import annotations

import sys
from pathlib import Path

from berth_cli.http_server.asgi import Application, Receive, Scope, Send
from berth_cli.http_server.limits import Limits
from berth_cli.http_server.server import create_server, listen
from tests.e2e.kubernetes.loopback import HOST


class NullExtender:
    """An ASGI application."""

    limits = Limits()

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await body_of(receive)
        await answer(send, self._content)


async def body_of(receive: Receive) -> bytes:
    """All of it, as the gateway reads it."""
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


async def answer(send: Send, content: bytes) -> None:
    """This JSON, with status 200."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def serve(application: Application, port: int) -> None:
    """Until Ctrl-C."""
    create_server(application).run(sockets=[listen(HOST, port)])


if __name__ == "__main__":
    serve(NullExtender(Path(sys.argv[2]).read_bytes()), int(sys.argv[1]))
