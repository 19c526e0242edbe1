"""A local API Gateway HTTP API: an ASGI application that builds the Lambda event and calls the real handler."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum, auto

import orjson

from berth.bind.answer import read_binding
from berth.ledger.gangs.item import MAX_QUEUED_MEMBERS
from berth.nodecache.binds_under_way import BegunBinds
from berth.pods import Binding
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.server.functions import Handler
from berth_cli.server.http.connection import abort_of
from berth_cli.server.http.limits import BytesInFlight, Limits, Receive, Scope, Send, Share
from berth_cli.server.http.tls import client_certificate

JSON_REQUIRED = "the request needs the header Content-Type: application/json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request: the status, and the text of `Error`."""

    status: int
    error: str


@dataclass(frozen=True, slots=True)
class RequestCheck:
    """Checks a request's header. `host_names`: names that callers use in addition to IP addresses and localhost; None
    accepts every name.

    An IP address as Host is safe: then DNS rebinding did not redirect the browser.
    """

    host_names: frozenset[str] | None = frozenset()

    def refusal(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why the request is refused, based on its header only; None if it is accepted."""
        return self._host_refusal(headers.get("host")) or _content_type_refusal(method, headers.get("content-type", ""))

    def _host_refusal(self, host: str | None) -> Refusal | None:
        if self.host_names is None:
            return None
        if host is None:
            return Refusal(400, "the request has no Host header; send one, such as Host: localhost")
        name = _host_name(host)
        if name in self.host_names or name == "localhost" or _is_address(name):
            return None
        return Refusal(421, f"unknown Host {name[:253]}; start berth serve with --allowed-host to accept this name")


def _content_type_refusal(method: str, content_type: str) -> Refusal | None:
    if method != "POST" or content_type.partition(";")[0].strip().lower() == "application/json":
        return None
    return Refusal(415, JSON_REQUIRED)


def _host_name(host: str) -> str:
    """Return the host without port, brackets and trailing dot, in lower case."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    return name.strip().lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


log = logging.getLogger("berth.gateway")

MAX_PAYLOAD_BYTES = 10_000_000
"""API Gateway's payload limit; larger requests get status 413 without a function call."""

BIND = "POST /scheduler/bind"
MAX_BINDING_BYTES = 4_000
"""The maximum size of a bind request: three names and a UID, which take less than half of it."""
BIND_THREADS = 256
"""The number of threads for bind without gangs. Threads start on demand."""


def members_in_bind(gangs: GangsConfiguration) -> int:
    """Return the maximum number of gang members that wait in bind, each with a connection and a thread: the members of
    the open gang, and the members in the queue."""
    return gangs.max_members + max(gangs.max_members, MAX_QUEUED_MEMBERS) if gangs.enabled else 0


class Gateway:
    """Routes by exact `METHOD path`, as the HTTP API does. Handlers run concurrently in threads: bind has separate
    threads, so that other verbs do not wait for a gang.

    Unlike the HTTP API, the gateway limits the bytes in flight, and refuses requests that a web page could send (see
    request_check).
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        threads: int = 16,
        check: RequestCheck | None = None,
        limits: Limits | None = None,
        wall: Callable[[], float] = time.time,
        members: int = 0,
        begun: BegunBinds | None = None,
    ) -> None:
        """`limits`: without members of gangs. `members`: the maximum number of gang members in bind. `wall`: seconds
        since the epoch. `begun`: tells the other verbs which pods are in bind."""
        self.handlers = handlers
        self._check = check or RequestCheck()
        limits = limits or Limits()
        self.limits = replace(limits, connections=limits.connections + members)
        self._wall = wall
        self._begun = begun
        self._bytes_in_flight = BytesInFlight(self.limits.bytes_in_flight)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")
        self._bind_pool = ThreadPoolExecutor(BIND_THREADS + members, thread_name_prefix="bind")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived_at = self._wall()
        route = f"{scope['method']} {scope['path']}"
        handler = self.handlers.get(route)
        if handler is None:
            error = f"Berth has no route {route}; its routes: {', '.join(sorted(self.handlers))}"
            log.warning(error)
            await _respond(send, 404, {"message": "Not Found", "Error": error})
            return
        refusal = self._check.refusal(scope["method"], _headers(scope))
        if refusal is not None:
            log.warning("%s: %s", route, refusal.error)
            await _respond(send, refusal.status, {"message": "Refused", "Error": refusal.error})
            return
        share = Share(self._bytes_in_flight)
        try:
            await self._call(route, handler, arrived_at, scope, receive, send, share)
        finally:
            share.release()

    async def _call(
        self, route: str, handler: Handler, arrived_at: float, scope: Scope, receive: Receive, send: Send, share: Share
    ) -> None:
        """Call the handler and send its response. `arrived_at`: seconds since the epoch; the scheduler's httpTimeout
        has begun by then."""
        body = await self._read(receive, share)
        if isinstance(body, _NoBody):
            await self._respond_without_body(route, body, send)
            return
        event = _event(route, arrived_at, scope, body)
        pool = self._bind_pool if route == BIND else self._pool
        with self._counted(body) if route == BIND else nullcontext():
            response = await asyncio.get_running_loop().run_in_executor(pool, handler, event, None)
        del body, event
        payload = response["body"]
        content = base64.b64decode(payload) if response.get("isBase64Encoded") else payload.encode()
        share.replace(len(content))
        share.wait_for_client(abort_of(scope))
        await _send(send, response["statusCode"], response["headers"], content)

    def _counted(self, body: bytes) -> AbstractContextManager[None]:
        """Count the pod before its bind gets a thread, because the scheduler's next prioritize may get one first.

        The caller is not authenticated yet, but only a UID counts that a scheduler has just sent.
        """
        if self._begun is None or len(body) > MAX_BINDING_BYTES:
            return nullcontext()
        binding = read_binding(body)
        return self._begun.begun(binding) if isinstance(binding, Binding) else nullcontext()

    async def _read(self, receive: Receive, share: Share) -> bytes | _NoBody:
        """Read the whole body, even if it is too long, so that the client receives the status."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.limits.body_seconds) as deadline:
                share.wait_for_client(lambda: deadline.reschedule(loop.time()))
                return await _read_parts(receive, share)
        except TimeoutError:
            return _NoBody.NO_ROOM if share.is_ended else _NoBody.TOO_SLOW
        finally:
            share.stop_waiting()

    async def _respond_without_body(self, route: str, cause: _NoBody, send: Send) -> None:
        if cause is _NoBody.ABORTED:
            return
        if cause is _NoBody.TOO_LONG:
            log.warning("%s: rejected a body of more than %d bytes", route, MAX_PAYLOAD_BYTES)
            await _respond(send, 413, {"message": "Request Too Long"})
            return
        if cause is _NoBody.TOO_SLOW:
            status, error = 408, f"the request body did not arrive within {self.limits.body_seconds:g} s"
        else:
            status, error = 503, f"more than {self.limits.bytes_in_flight} bytes of requests and answers are under way"
        log.warning("%s: %s", route, error)
        await _respond(send, status, {"Error": error}, {"Connection": "close"})


class _NoBody(Enum):
    """Why there is no body. ABORTED: the client closed the connection."""

    TOO_LONG = auto()
    TOO_SLOW = auto()
    NO_ROOM = auto()
    ABORTED = auto()


async def _read_parts(receive: Receive, share: Share) -> bytes | _NoBody:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return _NoBody.ABORTED
        more = message["more_body"]
        part = message["body"]
        size += len(part)
        if size > MAX_PAYLOAD_BYTES:
            parts.clear()
            share.shrink_to_nothing()
        elif share.grow(len(part)):
            parts.append(part)
        else:
            return _NoBody.NO_ROOM
    return b"".join(parts) if size <= MAX_PAYLOAD_BYTES else _NoBody.TOO_LONG


def _event(route: str, arrived_at: float, scope: Scope, body: bytes) -> dict[str, object]:
    """Return the function's event in payload format 2.0."""
    headers = _headers(scope)
    certificate = client_certificate(scope)
    text = _text(body, headers.get("content-type", ""))
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": scope["path"],
        "rawQueryString": scope["query_string"].decode("latin-1"),
        "headers": headers,
        "requestContext": {
            **({} if certificate is None else {"authentication": {"clientCert": certificate}}),
            "http": {
                "method": scope["method"],
                "path": scope["path"],
                "protocol": f"HTTP/{scope['http_version']}",
                "sourceIp": scope["client"][0] if scope.get("client") else "",
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": route,
            "stage": "$default",
            "timeEpoch": int(arrived_at * 1000),
        },
        "body": base64.b64encode(body).decode() if text is None else text,
        "isBase64Encoded": text is None,
    }


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _text(body: bytes, content_type: str) -> str | None:
    """Return the body as text; None if the gateway encodes it as base64."""
    if not content_type.startswith(("text/", "application/json")):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


async def _respond(send: Send, status: int, content: object, headers: Mapping[str, str] | None = None) -> None:
    await _send(send, status, {"Content-Type": "application/json", **(headers or {})}, orjson.dumps(content))


async def _send(send: Send, status: int, headers: Mapping[str, str], content: bytes) -> None:
    """Send one message with Content-Length: after a chunked response the scheduler needs a new connection (fact 6).

    Returns when the client has read nearly all of it, because the last `send` waits for that.
    """
    fields = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    fields.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": content, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
