"""A listening socket, and a server with a thread for each connection."""

from __future__ import annotations

import errno
import logging
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Thread

from berth_cli.server.http.connection import Connection, Phase
from berth_cli.server.http.limits import BytesInFlight
from berth_cli.server.http.messages import Application

log = logging.getLogger("berth.server")

BACKLOG = 256
TICK_SECONDS = 0.25
"""The interval in which deadlines are checked."""

GRACE_SECONDS = 2.0
"""The time for responses in progress when the server stops."""


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
    [family, kind, _, _, found], *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((found[0], port, *found[2:]))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class Server:
    """Accepts connections, each with a thread, and ends those whose deadline has passed."""

    def __init__(self, application: Application, tls: Callable[[], ssl.SSLContext] | None = None) -> None:
        """`tls`: returns the context of a new connection; None for plain HTTP."""
        self._application, self._tls, self._limits = application, tls, application.limits
        self._bytes_in_flight = BytesInFlight(self._limits.bytes_in_flight)
        self._connections: dict[Connection, None] = {}
        self._ended = Condition()
        self._is_stopped = False
        self._wakes, self._woken = socket.socketpair()

    def run(self, listener: socket.socket) -> None:
        """Serve in this thread until `stop` or Ctrl-C. Then give the responses in progress two seconds."""
        listener.setblocking(False)
        try:
            with selectors.DefaultSelector() as selector:
                for each in (listener, self._woken):
                    selector.register(each, selectors.EVENT_READ)
                while not self._is_stopped:
                    ready = [key.fileobj for key, _ in selector.select(TICK_SECONDS)]
                    if listener in ready:
                        self._accept(listener)
                    self._expire()
        finally:
            listener.close()
            self._close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._is_stopped = True
        with suppress(OSError):  # it has ended
            self._wakes.send(b"x")

    def _accept(self, listener: socket.socket) -> None:
        try:
            accepted, address = listener.accept()
        except BlockingIOError:
            return  # the client has left
        except OSError as error:
            log.warning("a connection cannot be accepted: %s", error.strerror)
            if not self._make_room():
                time.sleep(TICK_SECONDS)  # the connection still waits to be accepted
            return
        accepted.setblocking(True)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise a large response waits 40 ms
        connection = Connection(
            accepted, str(address[0]), self._application, self._bytes_in_flight, self._tls, self._forget
        )
        if len(self._connections) >= self._limits.connections and not self._make_room():
            count = len(self._connections)
            log.warning("refused a connection: %d are open and none is idle", count)
            connection.refuse(503, f"{count} connections are open")
            return
        self._connections[connection] = None
        try:
            Thread(target=connection.run, name="connection", daemon=True).start()
        except RuntimeError as error:
            log.warning("refused a connection: %s", error)
            self._forget(connection)
            connection.refuse(503, "there are no threads left")

    def _make_room(self) -> bool:
        """Close the connection with the longest idle time; return whether there is one."""
        idle = [each for each in [*self._connections] if each.phase is Phase.IDLE]
        if idle:
            oldest = min(idle, key=lambda each: each.idle_since)
            self._connections.pop(oldest, None)
            oldest.end()
        return bool(idle)

    def _forget(self, connection: Connection) -> None:
        with self._ended:
            self._connections.pop(connection, None)
            self._ended.notify_all()

    def _expire(self) -> None:
        now = time.monotonic()
        for each in [*self._connections]:
            if 0.0 < each.deadline < now:
                each.expire()

    def _close(self) -> None:
        for each in [*self._connections]:
            each.stop()
        with self._ended:
            self._ended.wait_for(lambda: not self._connections, GRACE_SECONDS)
        for each in [*self._connections]:
            each.end()
        self._wakes.close()
        self._woken.close()


@contextmanager
def serve_in_thread(
    application: Application, listener: socket.socket, tls: Callable[[], ssl.SSLContext] | None = None
) -> Iterator[None]:
    """Serve the application in a thread until the block ends, for callers in the same process."""
    server = Server(application, tls)
    thread = Thread(target=server.run, args=[listener], name="server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join()
