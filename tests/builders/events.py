"""HTTP API events, payload format 2.0."""

from __future__ import annotations

import base64


def http_event(body: str | bytes | None, route: str = "POST /scheduler/filter") -> dict[str, object]:
    """Encode a request as the gateway does: text unchanged, bytes as base64."""
    method, path = route.split(" ")
    encoded = isinstance(body, bytes)
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "user-agent": "Go-http-client/1.1"},
        "requestContext": {
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
            "requestId": "request-1",
            "routeKey": route,
            "stage": "$default",
            "timeEpoch": 1_700_000_000_000,
        },
        "body": base64.b64encode(body).decode() if isinstance(body, bytes) else body,
        "isBase64Encoded": encoded,
    }
