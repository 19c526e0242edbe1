"""Connections that another thread can end: a server's pool, with its sockets kept in sight.

A thread that waits for an API server, be it for a page or for the next event of a watch, is woken by nothing but its
socket. The time a connection takes to be made is not covered: the caller's timeout bounds it.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, ClassVar
from urllib.request import getproxies
from weakref import WeakSet

from urllib3.connection import HTTPConnection

from berth.cluster.api_server.access import Server
from berth.cluster.api_server.bearer import BearerServer
from berth.cluster.api_server.certificate import CertificateServer

if TYPE_CHECKING:
    import urllib3
    from urllib3 import HTTPConnectionPool

MAX_IDLE = 16
"""More than there are watches, which return their connections at about the same time."""


class ConnectionsClosed(OSError):
    """A connection was to be made after all had been closed."""


class Connections:
    """May be shared between threads."""

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = Lock()
        self._closed = False

    def pool(self, server: Server) -> urllib3.PoolManager:
        """A new pool with this server's TLS and proxy."""
        pool = _pool_of(server)
        pool.connection_pool_kw["maxsize"] = MAX_IDLE
        # Subclasses of whatever the pool would use: behind a SOCKS proxy that is not urllib3's default.
        classes: dict[str, type[HTTPConnectionPool]] = pool.pool_classes_by_scheme
        pool.pool_classes_by_scheme = {
            scheme: type(base.__name__, (base,), {"ConnectionCls": self._in_sight(base.ConnectionCls)})
            for scheme, base in classes.items()
        }
        return pool

    def close(self) -> None:
        """End every connection, also those that a thread waits on. None is made afterwards."""
        with self._lock:
            self._closed = True
            for open_socket in self._sockets:
                _shut_down(open_socket)

    def admit(self, made: socket.socket | None = None) -> None:
        """Asked before a connection is made, and with its socket after. Raises ConnectionsClosed."""
        with self._lock:
            if self._closed:
                raise ConnectionsClosed("closed")
            if made is not None:
                self._sockets.add(made)

    def _in_sight(self, base: type) -> type:
        return type(base.__name__, (_Connection, base), {"connections": self})


def _pool_of(server: Server) -> urllib3.PoolManager:
    if isinstance(server, CertificateServer):
        return server.pool()
    if isinstance(server, BearerServer):
        if not getproxies():
            return server.pool()
        # The client knows kinds of proxies, and which servers they are not for.
        server = server.configuration()
    from kubernetes.client.rest import RESTClientObject

    pool: urllib3.PoolManager = RESTClientObject(server).pool_manager
    return pool


class _Connection(HTTPConnection):
    """In front of the connection class that a pool would use, so that `super()` is that class."""

    connections: ClassVar[Connections]

    def connect(self) -> None:
        self.connections.admit()
        super().connect()
        try:
            # The socket and not the connection: http.client gives the socket away with the last answer on it.
            self.connections.admit(self.sock)
        except ConnectionsClosed:
            self.close()
            raise


def _shut_down(open_socket: socket.socket) -> None:
    # TLS to a server through TLS to a proxy is no socket itself.
    real = getattr(open_socket, "socket", open_socket)
    with suppress(OSError):
        # The base class's method: that of SSLSocket would leave the reading thread with undecrypted bytes.
        socket.socket.shutdown(real, socket.SHUT_RDWR)
