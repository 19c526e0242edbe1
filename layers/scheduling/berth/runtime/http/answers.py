"""A function's answer to the gateway: its encoding, and its largest size."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import TypedDict

from berth.runtime.http.events import HTTPEvent

COMPRESS_ABOVE_BYTES = 8192
"""Below, an answer fits into a few packets, and compressing it takes longer than sending it."""

GZIP_LEVEL = 1
"""The answer to 5,000 names: a tenth of its size in 0.8 ms of a processor. Level 6 takes 3 ms to save 4 KB more
(docs/reference/performance.md)."""

MAX_ANSWER_BYTES = 6_000_000
"""Of the whole answer as JSON: what a Lambda function returns at most, in round numbers."""

_LARGEST_GROWTH = 3
"""What JSON text takes at most for a byte of UTF-8: `\\u00fc` for two, a pair of such escapes for four."""

_ENVELOPE_BYTES = 200
"""Status, headers and names of the answer's fields."""

_JSON = {"Content-Type": "application/json"}
_GZIP = {**_JSON, "Content-Encoding": "gzip"}


class HTTPAnswer(TypedDict):
    """What the gateway makes a response of; it adds Content-Length itself (fact 6)."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


def http_answer(status: int, body: bytes) -> HTTPAnswer:
    """The answer as the gateway wants it; `body` is JSON."""
    return {"statusCode": status, "headers": _JSON, "body": body.decode(), "isBase64Encoded": False}


def lambda_answer(status: int, body: bytes, event: HTTPEvent) -> HTTPAnswer | None:
    """The same from Lambda: compressed where the body is large and the event's caller accepts it.

    None: the answer is larger than what Lambda returns.
    """
    if len(body) > COMPRESS_ABOVE_BYTES and accepts_gzip(event):
        text = base64.b64encode(gzip.compress(body, GZIP_LEVEL, mtime=0)).decode()
        found: HTTPAnswer = {"statusCode": status, "headers": _GZIP, "body": text, "isBase64Encoded": True}
        return found if len(text) <= MAX_ANSWER_BYTES - _ENVELOPE_BYTES else None
    return http_answer(status, body) if _fits(body) else None


def accepts_gzip(event: HTTPEvent) -> bool:
    """Whether the request's Accept-Encoding lists gzip, as Go's client does (fact 1). `*` is no wish for it."""
    headers = event.get("headers")
    accepted = headers.get("accept-encoding") if isinstance(headers, Mapping) else None
    if not isinstance(accepted, str):
        return False
    return any(_is_gzip(*coding.partition(";")[::2]) for coding in accepted.split(","))


def _is_gzip(name: str, parameters: str) -> bool:
    if name.strip().lower() != "gzip":
        return False
    _, _, quality = parameters.partition("=")
    try:
        return not quality or float(quality) > 0
    except ValueError:
        return False


def _fits(body: bytes) -> bool:
    most = MAX_ANSWER_BYTES - _ENVELOPE_BYTES
    return len(body) * _LARGEST_GROWTH <= most or len(json.dumps(body.decode())) <= most
