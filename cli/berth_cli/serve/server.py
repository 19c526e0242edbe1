"""Everything of `berth serve` that runs: the gateway on a socket, and the watcher beside it."""

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

from berth_cli.serve.gateway import Gateway
from berth_cli.serve.tls import HTTPProtocol

log = logging.getLogger("berth.server")

BACKLOG = 256
KEEP_ALIVE_SECONDS = 120
"""Longer than a scheduler is idle between two pods: Go's client keeps connections for 90 s."""


class CannotListen(Exception):
    """The address is taken, or there is none such. The message says what to do."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises CannotListen."""
    try:
        return _listening(host, port)
    except (OSError, OverflowError) as error:
        cause = error.strerror if isinstance(error, OSError) else "there is no such port"
        option = "--host" if _is_of_the_host(error) else "--port"
        raise CannotListen(f"{host}:{port} cannot be listened on ({cause}); choose another with {option}") from error


def _is_of_the_host(error: OSError | OverflowError) -> bool:
    """The name is nobody's, or the address another machine's."""
    return isinstance(error, socket.gaierror) or (isinstance(error, OSError) and error.errno == errno.EADDRNOTAVAIL)


def _listening(host: str, port: int) -> socket.socket:
    """Not by `socket.create_server`: asyncio sets TCP_NODELAY only where the protocol is named, and without it each
    large answer stalls for 40 ms."""
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


def make_server(gateway: Gateway, tls: ssl.SSLContext | None = None) -> uvicorn.Server:
    """uvicorn on asyncio; HTTPS where there is a context."""
    config = uvicorn.Config(
        gateway,
        http=HTTPProtocol,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


@contextmanager
def serving(gateway: Gateway, listener: socket.socket, tls: ssl.SSLContext | None = None) -> Iterator[None]:
    """The gateway in a thread, for a program that is its own client."""
    server = make_server(gateway, tls)
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), name="gateway", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
