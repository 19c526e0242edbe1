"""An ASGI application as the server calls it, and the types of its arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from berth_cli.http_server.limits import Limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Application(Protocol):
    """It says the limits of its connections."""

    @property
    def limits(self) -> Limits: ...
    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]: ...
