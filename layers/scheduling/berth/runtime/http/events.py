"""What invokes a function: an event of the HTTP API (payload format 2.0), or a warm-up event of the watcher."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TypedDict

from berth.extender.outcomes import Failure, bad_request

HTTPEvent = Mapping[str, object]


class HTTPAnswer(TypedDict):
    """What the gateway makes a response of; it adds Content-Length itself (fact 6)."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


_HEADERS = {"Content-Type": "application/json"}


def body_of(event: HTTPEvent) -> str | bytes | Failure:
    """The request's body; base64 where the content type was not text."""
    body = event.get("body")
    if body is None:
        return ""
    if not isinstance(body, str):
        return bad_request("the event's body is not a string")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:  # binascii.Error is one; so is a character that base64 does not have
        return bad_request("the event's body is not base64, though it is said to be")


def http_answer(status: int, body: bytes) -> HTTPAnswer:
    """The answer as the gateway wants it; `body` is JSON."""
    return {"statusCode": status, "headers": _HEADERS, "body": body.decode(), "isBase64Encoded": False}


WARM_UP_SOURCE = "berth.warm-up"
WARM_UP_EVENT: Mapping[str, object] = {"source": WARM_UP_SOURCE}
"""The watcher sends it to a verb's function, which then loads the latest snapshot and answers no request."""


def is_warm_up(event: Mapping[str, object]) -> bool:
    """Whether the watcher sent the event. An HTTP API event has no `source`, and its caller cannot add one."""
    return event.get("source") == WARM_UP_SOURCE
