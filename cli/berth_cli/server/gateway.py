"""A local API Gateway HTTP API: builds the Lambda event and calls the real handler."""

from __future__ import annotations

import base64
import ipaddress
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from threading import BoundedSemaphore

from berth.bind.answer import read_binding
from berth.ledger.gangs.item import MAX_QUEUED_MEMBERS
from berth.nodecache.binds_under_way import BegunBinds
from berth.pods import Binding
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.server.functions import Handler
from berth_cli.server.http.limits import Limits
from berth_cli.server.http.messages import Request, Response, json_response

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

MAX_CALLS = 16
"""The maximum number of calls at once, except bind, which may wait for a gang."""

LARGE_BYTES, MAX_LARGE_CALLS = 1_000_000, 2
"""A large request takes several times its size in memory while it is answered, so few are answered at once."""

BIND = "POST /scheduler/bind"
MAX_BINDING_BYTES = 4_000
"""The maximum size of a bind request: three names and a UID, which take less than half of it."""


def members_in_bind(gangs: GangsConfiguration) -> int:
    """Return the maximum number of gang members that wait in bind, each with a connection: the members of the open
    gang, and the members in the queue."""
    return gangs.max_members + max(gangs.max_members, MAX_QUEUED_MEMBERS) if gangs.enabled else 0


class Gateway:
    """Routes by exact `METHOD path`, as the HTTP API does. Handlers run concurrently, each in its connection's thread.

    Unlike the HTTP API, the gateway refuses requests that a web page could send (see RequestCheck).
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
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
        self._calls, self._large_calls = BoundedSemaphore(MAX_CALLS), BoundedSemaphore(MAX_LARGE_CALLS)

    def begin(self, request: Request) -> Response | None:
        """Refuse a request by its route or its header. The scheduler's httpTimeout has begun by now."""
        request.arrived_at = self._wall()
        route = f"{request.method} {request.path}"
        if route not in self.handlers:
            error = f"Berth has no route {route}; its routes: {', '.join(sorted(self.handlers))}"
            log.warning(error)
            return json_response(404, {"message": "Not Found", "Error": error})
        refusal = self._check.refusal(request.method, request.headers)
        if refusal is None:
            return None
        log.warning("%s: %s", route, refusal.error)
        return json_response(refusal.status, {"message": "Refused", "Error": refusal.error})

    def answer(self, request: Request) -> Response:
        """Call the handler."""
        route = f"{request.method} {request.path}"
        calls = self._large_calls if len(request.body) > LARGE_BYTES else self._calls
        with self._counted(request.body) if route == BIND else calls:
            found = self.handlers[route](_event(route, request), None)
        payload = found["body"]
        content = base64.b64decode(payload) if found.get("isBase64Encoded") else payload.encode()
        return Response(found["statusCode"], content, found["headers"])

    def _counted(self, body: bytes) -> AbstractContextManager[None]:
        """Count the pod before its bind is handled: the scheduler's next prioritize may be handled first.

        The caller is not authenticated yet, but only a UID counts that a scheduler has just sent.
        """
        if self._begun is None or len(body) > MAX_BINDING_BYTES:
            return nullcontext()
        binding = read_binding(body)
        return self._begun.begun(binding) if isinstance(binding, Binding) else nullcontext()


def _event(route: str, request: Request) -> dict[str, object]:
    """Return the function's event in payload format 2.0."""
    headers, certificate = request.headers, request.certificate
    text = _text(request.body, headers.get("content-type", ""))
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            **({} if certificate is None else {"authentication": {"clientCert": certificate}}),
            "http": {
                "method": request.method,
                "path": request.path,
                "protocol": f"HTTP/{request.http_version}",
                "sourceIp": request.client,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": route,
            "stage": "$default",
            "timeEpoch": int(request.arrived_at * 1000),
        },
        "body": base64.b64encode(request.body).decode() if text is None else text,
        "isBase64Encoded": text is None,
    }


def _text(body: bytes, content_type: str) -> str | None:
    """Return the body as text; None if the gateway encodes it as base64."""
    if not content_type.startswith(("text/", "application/json")):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
