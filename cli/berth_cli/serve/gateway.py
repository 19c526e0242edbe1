"""A local API Gateway HTTP API: an ASGI application that builds the Lambda event and calls the real handler."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from berth_cli.serve.functions import Handler
from berth_cli.serve.tls import client_certificate

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_PAYLOAD_BYTES = 10_000_000
"""Payload limit of API Gateway; larger requests get status 413 without a function call."""

log = logging.getLogger("berth.gateway")


class Gateway:
    """Route by exact `METHOD path`, as the HTTP API does. Handlers run concurrently in threads.

    The authorizer, if any, runs before every request, as with a cache TTL of 0.
    """

    def __init__(self, handlers: Mapping[str, Handler], threads: int = 16, authorizer: Handler | None = None) -> None:
        self._handlers = handlers
        self._authorizer = authorizer
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = f"{scope['method']} {scope['path']}"
        handler = self._handlers.get(route)
        if handler is None:
            log.warning("no route %s; known routes: %s", route, ", ".join(self._handlers))
            await _respond(send, 404, {"message": "Not Found", "Error": f"Berth has no route {route}"})
            return
        loop = asyncio.get_running_loop()
        if self._authorizer is not None:
            decision = await loop.run_in_executor(self._pool, self._authorizer, _authorizer_event(route, scope), None)
            if decision.get("isAuthorized") is not True:
                await _read(receive)
                await _respond(send, 403, {"message": "Forbidden"})
                return
        body = await _read(receive)
        if body is None:
            log.warning("%s: rejected a body of more than %d bytes", route, MAX_PAYLOAD_BYTES)
            await _respond(send, 413, {"message": "Request Too Long"})
            return
        response = await loop.run_in_executor(self._pool, handler, _event(route, scope, body), None)
        payload = response["body"]
        content = base64.b64decode(payload) if response.get("isBase64Encoded") else payload.encode()
        await _send(send, response["statusCode"], response["headers"], content)


async def _read(receive: Receive) -> bytes | None:
    """The whole body, or None if it is too long. The rest is read too, so that the caller receives the status."""
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        part = message.get("body", b"")
        size += len(part)
        if size <= MAX_PAYLOAD_BYTES:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= MAX_PAYLOAD_BYTES else None


def _event(route: str, scope: Scope, body: bytes) -> dict[str, object]:
    """The function's event in payload format 2.0."""
    request = _request(route, scope)
    text = _text(body, _headers(scope).get("content-type", ""))
    return request | {
        "body": base64.b64encode(body).decode() if text is None else text,
        "isBase64Encoded": text is None,
    }


def _authorizer_event(route: str, scope: Scope) -> dict[str, object]:
    """The authorizer's event in payload format 2.0; it has no body."""
    return _request(route, scope) | {"type": "REQUEST", "identitySource": [route]}


def _request(route: str, scope: Scope) -> dict[str, object]:
    headers = _headers(scope)
    certificate = client_certificate(scope)
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
            "timeEpoch": int(time.time() * 1000),
        },
    }


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _text(body: bytes, content_type: str) -> str | None:
    """The body as text; None if the gateway encodes it as base64."""
    if not content_type.startswith(("text/", "application/json")):
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


async def _respond(send: Send, status: int, content: object) -> None:
    await _send(send, status, {"Content-Type": "application/json"}, orjson.dumps(content))


async def _send(send: Send, status: int, headers: Mapping[str, str], content: bytes) -> None:
    """Send one message with Content-Length: a chunked response costs the scheduler a new connection (fact 6)."""
    fields = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    fields.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": content})
