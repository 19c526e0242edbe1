"""A listening socket, and a server with a thread for each connection."""

from __future__ import annotations

import errno
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Thread

from berth_cli.server.http.connection import Connection, Phase
from berth_cli.server.http.limits import BytesInFlight
from berth_cli.server.http.messages import Application, encode, json_response
from berth_cli.server.http.tls import TLS

log = logging.getLogger("berth.server")

BACKLOG = 256
TICK_SECONDS = 0.25
"""The interval in seconds at which deadlines are checked."""

GRACE_SECONDS = 2.0
"""The time in seconds for responses in progress when the server stops."""


class ListenError(Exception):
    """The address is in use or does not exist. The message names the option to change."""


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 selects a free port. Raises ListenError."""
    try:
        [family, *_], *_ = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        dual = family is socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual)
    except (OSError, OverflowError) as error:
        number = error.errno if isinstance(error, OSError) else None
        # The host name is unknown, or the address belongs to another machine.
        option = "--host" if isinstance(error, socket.gaierror) or number == errno.EADDRNOTAVAIL else "--port"
        cause = str(error.strerror).partition(" (")[0] if isinstance(error, OSError) else "invalid port"
        raise ListenError(f"{host}:{port} cannot be listened on ({cause}); choose another with {option}") from error


class Server:
    """Accepts connections, each with a thread, and interrupts those whose deadline has passed."""

    def __init__(self, application: Application, tls: TLS | None = None) -> None:
        self._application, self._tls, self._limits = application, tls, application.limits
        self._bytes_in_flight = BytesInFlight(self._limits.bytes_in_flight)
        self._connections: dict[Connection, None] = {}
        self._ended = Condition()
        self._is_stopped = False

    def run(self, listener: socket.socket) -> None:
        """Serve in this thread until `stop` or Ctrl-C. Then give the responses in progress two seconds."""
        listener.settimeout(TICK_SECONDS)
        try:
            while not self._is_stopped:
                self._accept(listener)
                now = time.monotonic()
                for each in [*self._connections]:
                    each.expire(now)
        finally:
            listener.close()
            self._close()

    def stop(self, listener: socket.socket) -> None:
        """End `run`, from another thread."""
        self._is_stopped = True
        with suppress(OSError):  # the server has ended
            listener.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        try:
            accepted, address = listener.accept()
        except TimeoutError:
            return
        except OSError as error:
            if not self._is_stopped:
                log.warning("a connection cannot be accepted: %s", error.strerror)
                if not self._make_room():
                    time.sleep(TICK_SECONDS)  # the connection still waits to be accepted
            return
        if len(self._connections) >= self._limits.connections and not self._make_room():
            self._refuse(accepted, f"{len(self._connections)} connections are open and none is idle")
            return
        context = None if self._tls is None else self._tls.context
        connection = Connection(
            accepted, str(address[0]), self._application, self._bytes_in_flight, context, self._forget
        )
        self._connections[connection] = None
        try:
            Thread(target=connection.run, name="connection", daemon=True).start()
        except RuntimeError:
            self._forget(connection)
            self._refuse(accepted, "there are no threads left")

    def _refuse(self, accepted: socket.socket, error: str) -> None:
        """Answer and close a connection that does not have a thread. Over TLS, only close it."""
        log.warning("refused a connection: %s", error)
        with suppress(OSError), accepted:
            if self._tls is None:
                accepted.setblocking(False)
                accepted.send(encode(json_response(503, {"Error": error}), closes=True))

    def _make_room(self) -> bool:
        """Close the idle connection that would end next; return whether there is one."""
        idle = [each for each in [*self._connections] if each.phase is Phase.IDLE]
        if idle:
            next_end = min(idle, key=lambda each: each.deadline)
            self._connections.pop(next_end, None)
            next_end.shut_down(socket.SHUT_RDWR)
        return bool(idle)

    def _forget(self, connection: Connection) -> None:
        with self._ended:
            self._connections.pop(connection, None)
            self._ended.notify_all()

    def _close(self) -> None:
        for each in [*self._connections]:
            each.stop()
        with self._ended:
            self._ended.wait_for(lambda: not self._connections, GRACE_SECONDS)
        for each in [*self._connections]:
            each.shut_down(socket.SHUT_RDWR)


@contextmanager
def serve_in_thread(application: Application, listener: socket.socket, tls: TLS | None = None) -> Iterator[None]:
    """Serve the application in a thread until the block ends, for callers in the same process."""
    server = Server(application, tls)
    thread = Thread(target=server.run, args=[listener], name="server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.stop(listener)
        thread.join()
