"""One user's connections to a Kubernetes API server, with JSON requests and answers.

A request is repeated only if the server answered 401: once, as the same user with fresh credentials.

With a Configuration, the Kubernetes client does authentication and TLS. Its models are not used: they validate an
answer after the server has executed the request, and take longer than the call.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlencode
from urllib.request import getproxies
from weakref import WeakSet

import orjson
import urllib3
from urllib3.connection import HTTPConnection

from berth.cluster.api_server.access import Access, BearerServer, CertificateServer, Server, authorization
from berth.nodecache.feed.cluster import ClusterUnavailable

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool
    from urllib3.response import BaseHTTPResponse

MAX_IDLE = 16
"""Maximum number of idle connections: more than there are watches, which end at about the same time."""


class ConnectionsClosed(OSError):
    """A connection was requested after `close`."""


class Connections:
    """The connections of one ApiServer, which `close` ends. Thread-safe."""

    def __init__(self) -> None:
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = Lock()
        self._closed = False

    def pool(self, server: Server) -> urllib3.PoolManager:
        pool = _pool_of(server)
        pool.connection_pool_kw["maxsize"] = MAX_IDLE
        # Subclass the classes that the pool uses: with a SOCKS proxy they are not urllib3's defaults.
        classes: dict[str, type[HTTPConnectionPool]] = pool.pool_classes_by_scheme
        pool.pool_classes_by_scheme = own = dict(classes)
        for scheme, base in classes.items():
            connection = type(base.ConnectionCls.__name__, (_Connection, base.ConnectionCls), {"connections": self})
            own[scheme] = type(base.__name__, (base,), {"ConnectionCls": connection})
        return pool

    def close(self) -> None:
        """Close all connections, even if threads wait for data on them. Later connections are refused."""
        with self._lock:
            self._closed = True
            for open_socket in self._sockets:
                _shut_down(open_socket)

    def admit(self, made: socket.socket | None = None) -> None:
        """Check that connections are allowed. Called before a connection is made, and afterwards with its socket.
        Raises ConnectionsClosed."""
        with self._lock:
            if self._closed:
                raise ConnectionsClosed("closed")
            if made is not None:
                self._sockets.add(made)


def _pool_of(server: Server) -> urllib3.PoolManager:
    if isinstance(server, CertificateServer):
        return server.pool()
    if isinstance(server, BearerServer):
        if not getproxies():
            return server.pool()
        # The client handles proxies, and the servers for which a proxy is not used.
        server = server.configuration()
    from kubernetes.client.rest import RESTClientObject

    pool: urllib3.PoolManager = RESTClientObject(server).pool_manager
    return pool


class _Connection(HTTPConnection):
    """Mixin that precedes the pool's connection class in the MRO, so that `super()` calls the pool's class."""

    connections: ClassVar[Connections]

    def connect(self) -> None:
        self.connections.admit()
        super().connect()
        try:
            # Register the socket, not the connection: http.client moves the socket into the connection's last answer.
            self.connections.admit(self.sock)
        except ConnectionsClosed:
            self.close()
            raise


def _shut_down(open_socket: socket.socket) -> None:
    # For TLS inside a TLS connection to a proxy, urllib3 uses an object that is not a socket.
    real = getattr(open_socket, "socket", open_socket)
    with suppress(OSError):
        # Call the base class's method: SSLSocket's method would leave undecrypted bytes to the reading thread.
        socket.socket.shutdown(real, socket.SHUT_RDWR)


class ApiServerUnreachable(ClusterUnavailable):
    """The server did not answer. It may still have executed the request."""


class CredentialsUnavailable(ApiServerUnreachable):
    """There are no valid credentials, so the request was not sent, or was rejected with 401."""


def unreachable(error: urllib3.exceptions.HTTPError, host: str) -> ApiServerUnreachable:
    cause = f"the connection to {host} broke ({type(error).__name__})"
    if isinstance(error, urllib3.exceptions.SSLError):
        cause = f"TLS with {host} failed ({error})"
        if any(isinstance(part, ssl.SSLCertVerificationError) for part in error.args):
            cause = (
                f"the certificate of {host} is not trusted; set certificate-authority-data in the kubeconfig "
                f"or the EKS settings ({error})"
            )
    elif isinstance(error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError):
        cause = f"{host} cannot be reached; check the kubeconfig's server or EksCluster, and the network to it"
    elif isinstance(error, urllib3.exceptions.TimeoutError):
        cause = f"{host} did not answer in time"
    return ApiServerUnreachable(cause)


_PIECE_BYTES = 1 << 16


class AnswerStream:
    """The lines of one answer, for one thread and one iteration. The caller closes it."""

    def __init__(self, response: BaseHTTPResponse, host: str) -> None:
        self._response = response
        self._host = host

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line once it is complete, until the server ends the response normally. Raises
        ApiServerUnreachable if the response breaks off or times out; an incomplete line is dropped."""
        if not self._response.headers.get("transfer-encoding"):
            # Without chunked encoding, the end of the answer cannot be distinguished from a broken connection.
            raise ApiServerUnreachable(f"{self._host} does not stream its answer; is a proxy between us and it?")
        started: list[bytes] = []
        try:
            for piece in self._response.stream(_PIECE_BYTES):
                *ends, rest = piece.split(b"\n")
                for end in ends:
                    yield b"".join([*started, end])
                    started = []
                started.append(rest)
        except urllib3.exceptions.HTTPError as error:
            raise unreachable(error, self._host) from error
        if last := b"".join(started):
            yield last

    def close(self) -> None:
        """End the answer. Its connection is reused only if the answer was complete."""
        self._response.close()
        self._response.release_conn()


MAX_IDLE_SECONDS = 30.0
"""The seconds after which idle connections are dropped: requests would hang if sockets died in a frozen environment."""

CONNECT_SECONDS = 5.0
"""The seconds in which the connection for a request, including TLS, must be established."""

CREDENTIALS_REFUSED = "the API server does not accept these credentials: has the token or the certificate expired?"

PRECONDITION_FAILED = (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY)
"""The answers to a patch whose metadata has another resourceVersion or another UID than the object."""

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
JSON_MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. `content`: the decoded JSON object; empty if the answer does not have one."""

    status: int
    content: Mapping[str, object]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        message = self.content.get("message")
        return message if isinstance(message, str) and message else f"the API server answered {self.status}"


class ApiServer:
    """Sends requests to an API server as one user. Thread-safe. Credentials are renewed only if it is created from an
    Access, not from a Server."""

    def __init__(self, access: Access | Server, clock: Callable[[], float]) -> None:
        self._access = access if isinstance(access, Access) else Access(lambda: access)
        self._clock = clock
        self._lock = Lock()
        self._connections = Connections()
        self._configuration = self._access.configuration
        self._pool = self._connections.pool(self._configuration)
        self._last_used = clock()

    def separate(self) -> ApiServer:
        """Return an ApiServer of the same user with separate connections, which can be closed independently."""
        return ApiServer(self._access, self._clock)

    def close(self) -> None:
        """End all requests and streams of all threads immediately; later requests raise ApiServerUnreachable."""
        self._connections.close()
        with self._lock:
            self._pool.clear()

    def request(
        self,
        method: str,
        path: str,
        *,
        timeout: float,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Answer:
        """Send one request; `timeout` in seconds covers connecting and reading. Raises ApiServerUnreachable."""
        started = self._clock()
        content = None if body is None else orjson.dumps(body)

        def send(configuration: Server) -> BaseHTTPResponse:
            left = timeout - (self._clock() - started)
            if left <= 0:
                raise ApiServerUnreachable(f"{configuration.host} did not answer in time")
            limits = urllib3.Timeout(connect=min(left, CONNECT_SECONDS), total=left)
            return self._send(configuration, method, path, query, limits, content, content_type)

        return _answer(self._with_fresh_credentials(send))

    def stream(self, path: str, *, query: Mapping[str, str], silence: float) -> Answer | AnswerStream:
        """GET a stream of lines; return an Answer if the server rejects the request. Raises ApiServerUnreachable.
        `silence`: the seconds without a byte after which the connection is treated as broken."""
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=silence)
        response = self._with_fresh_credentials(
            lambda configuration: self._send(configuration, "GET", path, query, timeout, streamed=True)
        )
        if response.status == HTTPStatus.OK:
            return AnswerStream(response, self._access.configuration.host)
        try:
            return _answer(response)
        except urllib3.exceptions.HTTPError as error:
            raise unreachable(error, self._access.configuration.host) from error

    def _with_fresh_credentials(self, send: Callable[[Server], BaseHTTPResponse]) -> BaseHTTPResponse:
        configuration = self._access.configuration
        try:
            response = send(configuration)
            if response.status != HTTPStatus.UNAUTHORIZED or not self._access.renew(configuration):
                return response
            response.close()
            return send(self._access.configuration)
        except ApiServerUnreachable:
            raise
        except ClusterUnavailable as error:
            raise CredentialsUnavailable(str(error)) from error

    def _send(
        self,
        configuration: Server,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        timeout: urllib3.Timeout,
        body: bytes | None = None,
        content_type: str = JSON,
        *,
        streamed: bool = False,
    ) -> BaseHTTPResponse:
        headers = {"Accept": JSON, "Content-Type": content_type}
        # Call this for every request: it replaces an old token.
        headers |= authorization(configuration)
        try:
            return self._pool_for(configuration).request(
                method,
                configuration.host + path + ("?" + urlencode(query) if query else ""),
                body=body,
                headers=headers,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=not streamed,
            )
        except urllib3.exceptions.HTTPError as error:
            raise unreachable(error, configuration.host) from error

    def _pool_for(self, configuration: Server) -> urllib3.PoolManager:
        with self._lock:
            now = self._clock()
            if configuration is not self._configuration:
                # The old pool is not cleared: a thread may be about to take a connection from it.
                self._pool, self._configuration = self._connections.pool(configuration), configuration
            elif now - self._last_used > MAX_IDLE_SECONDS:
                self._pool.clear()
            self._last_used = now
            return self._pool


def _answer(response: BaseHTTPResponse) -> Answer:
    try:
        content = orjson.loads(response.data)
    except orjson.JSONDecodeError:
        content = {}
    return Answer(response.status, content if isinstance(content, dict) else {})
