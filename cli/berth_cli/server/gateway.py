"""A local API Gateway HTTP API: builds the Lambda event and calls the real handler."""

from __future__ import annotations

import base64
import ipaddress
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import BoundedSemaphore

from berth.bind.answer import read_binding
from berth.ledger.gangs.item import MAX_QUEUED_MEMBERS
from berth.nodecache.binds_under_way import BegunBinds
from berth.pods import Binding
from berth.scheduling.gangs.gang import GangsConfiguration
from berth_cli.server.functions import Handler
from berth_cli.server.http.limits import Limits
from berth_cli.server.http.messages import Request, Response, json_response

log = logging.getLogger("berth.gateway")

MAX_CALLS = 16
"""The maximum number of calls at once, except bind, which may wait for a gang."""

LARGE_BYTES, MAX_LARGE_CALLS = 1_000_000, 2
"""The size in bytes of a large request, and how many are handled at once: each needs several times its size."""

BIND = "POST /scheduler/bind"
MAX_BINDING_BYTES = 4_000
"""The maximum size of a bind request in bytes. Its three names and the UID take less than half of it."""


@dataclass(frozen=True, slots=True)
class RequestCheck:
    """Refuses requests that a web page could send. `host_names`: names that callers use in addition to IP addresses and
    localhost; None accepts every name. An IP address as Host is safe, because DNS rebinding needs a name.
    """

    host_names: frozenset[str] | None = frozenset()

    def refusal(self, request: Request) -> tuple[int, str] | None:
        """Return the status and the reason if the request's header is refused; otherwise None."""
        name, is_own = _host_name(request.headers.get("host", ""))
        if self.host_names is not None and name not in self.host_names and not is_own:
            return 421, f"unknown Host {name[:253]!r}; start berth serve with --allowed-host to accept this name"
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and content_type != "application/json":
            return 415, "the request needs the header Content-Type: application/json"
        return None


@lru_cache(maxsize=16)
def _host_name(host: str) -> tuple[str, bool]:
    """Return the host without port, brackets and trailing dot, in lower case; and whether it is an address or
    localhost."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    name = name.strip().lower().removesuffix(".")
    try:
        return name, name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return name, False


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
        wall: Callable[[], float] = time.time,
        members: int = 0,
        begun: BegunBinds | None = None,
    ) -> None:
        """Prepare the gateway. `members`: the maximum number of gang members in bind. `wall`: returns the seconds since
        the epoch. `begun`: shows the other verbs which pods are in bind."""
        self.handlers, self._check = handlers, check or RequestCheck()
        self.limits = replace(Limits(), connections=Limits().connections + members)
        self._wall, self._begun = wall, begun
        self._calls, self._large_calls = BoundedSemaphore(MAX_CALLS), BoundedSemaphore(MAX_LARGE_CALLS)

    def begin(self, request: Request) -> Response | None:
        """Refuse a request with an unknown route or a bad header. Record the time of its arrival, at which the
        scheduler's httpTimeout begins."""
        request.arrived_at = self._wall()
        if request.route not in self.handlers:
            error = f"Berth has no route {request.route}; its routes: {', '.join(sorted(self.handlers))}"
            log.warning(error)
            return json_response(404, {"message": "Not Found", "Error": error})
        refusal = self._check.refusal(request)
        if refusal is None:
            return None
        status, error = refusal
        log.warning("%s: %s", request.route, error)
        return json_response(status, {"message": "Refused", "Error": error})

    def answer(self, request: Request) -> Response:
        """Call the handler."""
        calls = self._large_calls if len(request.body) > LARGE_BYTES else self._calls
        with self._counted(request.body) if request.route == BIND else calls:
            found = self.handlers[request.route](_event(request), None)
        payload = found["body"]
        content = base64.b64decode(payload) if found.get("isBase64Encoded") else payload.encode()
        return Response(found["statusCode"], content, found["headers"])

    def _counted(self, body: bytes) -> AbstractContextManager[None]:
        """Count the pod on its node before its bind is handled, because the scheduler's next prioritize may be handled
        first. The caller is not authenticated yet, but only pods that a verb has just evaluated are counted.
        """
        if self._begun is None or len(body) > MAX_BINDING_BYTES:
            return nullcontext()
        binding = read_binding(body)
        return self._begun.begun(binding) if isinstance(binding, Binding) else nullcontext()


def _event(request: Request) -> dict[str, object]:
    """Return the function's event in payload format 2.0, without fields that no function reads."""
    text = _text(request)
    certificate = {} if request.certificate is None else {"authentication": {"clientCert": request.certificate}}
    return {
        "version": "2.0",
        "routeKey": request.route,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": request.headers,
        "requestContext": {
            **certificate,
            "http": {"method": request.method, "path": request.path, "sourceIp": request.client},
            "stage": "$default",
            "timeEpoch": int(request.arrived_at * 1000),
        },
        "body": base64.b64encode(request.body).decode() if text is None else text,
        "isBase64Encoded": text is None,
    }


def _text(request: Request) -> str | None:
    """Return the body as text; None if the gateway encodes it as base64."""
    if not request.headers.get("content-type", "").startswith(("text/", "application/json")):
        return None
    try:
        return request.body.decode()
    except UnicodeDecodeError:
        return None
