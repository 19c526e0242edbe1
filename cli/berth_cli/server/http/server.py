"""A listening socket, and a uvicorn server for an application."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn

from berth_cli.server.http.connection import Connection
from berth_cli.server.http.limits import Application, Limits

log = logging.getLogger("berth.server")

BACKLOG = 256


class ListenError(Exception):
    """The address is in use or does not exist. The message names the option to change."""


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 selects a free port. Raises ListenError."""
    try:
        return _open_socket(host, port)
    except (OSError, OverflowError) as error:
        cause = error.strerror if isinstance(error, OSError) else "invalid port"
        option = "--host" if _is_host_error(error) else "--port"
        raise ListenError(f"{host}:{port} cannot be listened on ({cause}); choose another with {option}") from error


def _is_host_error(error: OSError | OverflowError) -> bool:
    """Return whether the host name is unknown, or the address belongs to another machine."""
    return isinstance(error, socket.gaierror) or (isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL)


def _open_socket(host: str, port: int) -> socket.socket:
    """Bind and listen, with an explicit protocol number.

    asyncio sets TCP_NODELAY only if the protocol is set, which `socket.create_server` does not do. Without
    TCP_NODELAY each large response is delayed by 40 ms.
    """
    [family, kind, _, _, found], *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((found[0], port, *found[2:]))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class _Server(uvicorn.Server):
    """uvicorn's server with its own limits, and with a deadline for the TLS handshake."""

    def __init__(self, config: uvicorn.Config, limits: Limits) -> None:
        super().__init__(config)
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the sockets."""
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()
        tls = self.config.ssl
        self.servers = [
            await loop.create_server(
                lambda: Connection(self.config, self.server_state, self.lifespan.state, self._limits),
                sock=listener,
                ssl=tls,
                backlog=BACKLOG,
                ssl_handshake_timeout=None if tls is None else self._limits.head_seconds,
            )
            for listener in sockets or ()
        ]
        self.started = True


def create_server(application: Application, tls: ssl.SSLContext | None = None) -> uvicorn.Server:
    """Create a uvicorn server on asyncio; HTTPS if `tls` is given."""
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        # Without a proxy, any caller could set X-Forwarded-For, and the middleware would run with each call.
        proxy_headers=False,
        timeout_keep_alive=application.limits.keep_alive_seconds,
        timeout_graceful_shutdown=2,
    )
    return _Server(config, application.limits)


@contextmanager
def serve_in_thread(
    application: Application, listener: socket.socket, tls: ssl.SSLContext | None = None
) -> Iterator[None]:
    """Serve the application in a thread until the block ends, for callers in the same process."""
    with running_in_thread(create_server(application, tls), listener):
        yield


@contextmanager
def running_in_thread(server: uvicorn.Server, listener: socket.socket) -> Iterator[None]:
    """Run the server in a thread until the block ends."""
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), name="server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
