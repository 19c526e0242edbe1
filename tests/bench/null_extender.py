"""`python -m tests.bench.null_extender PORT FILE`: answers every call with the bytes of FILE, and does not look at it.

It has the same HTTP server as `berth serve`, so the difference of the two is Berth's share.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import uvicorn

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class NullExtender:
    """An ASGI application."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._content})


def serve(application: Callable[..., Awaitable[None]], port: int) -> None:
    """With the options of `berth serve`, until Ctrl-C."""
    uvicorn.run(
        application,
        port=port,
        http="httptools",
        loop="asyncio",
        lifespan="off",
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    serve(NullExtender(Path(sys.argv[2]).read_bytes()), int(sys.argv[1]))
