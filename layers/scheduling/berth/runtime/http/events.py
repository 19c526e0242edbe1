"""Events that invoke a function: of the HTTP API (payload format 2.0), of the watcher, of the pre-traffic hook, or
of `berth config apply`.

The gateway's events have a `requestContext` but not a `source`, and callers cannot change that. The sender of any
other event needs the right to invoke the function.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import TypedDict

from berth.extender.deadline import Deadline
from berth.extender.outcomes import Failure, bad_request
from berth.lease.clock import Clock

HTTPEvent = Mapping[str, object]


def body_of(event: HTTPEvent) -> str | bytes | Failure:
    """Return the request's body, decoded if the gateway sent base64; a Failure if the body is malformed."""
    body = event.get("body")
    if body is None:
        return ""
    if not isinstance(body, str):
        return bad_request("the event's body is not a string")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except ValueError:  # binascii.Error is a ValueError; an invalid character raises one, too
        return bad_request("the event's body is not base64, though it is said to be")


WARM_UP_SOURCE = "berth.warm-up"
WARM_UP_EVENT: Mapping[str, object] = {"source": WARM_UP_SOURCE}
"""The event that the watcher sends to a verb's function, which then only loads the latest snapshot."""


PRE_TRAFFIC_SOURCE = "berth.pre-traffic"
"""Source of the requests with which the pre-traffic hook tests a new version. They do not have a caller."""


CONFIGURATION_TRIAL_SOURCE = "berth.configuration-trial"
"""Source of the events with which `berth config apply` asks a verb's function to try a document."""


def configuration_trial(document: str) -> Mapping[str, object]:
    return {"source": CONFIGURATION_TRIAL_SOURCE, "document": document}


def is_from(event: Mapping[str, object], source: str) -> bool:
    return event.get("source") == source and "requestContext" not in event


COMPRESS_ABOVE_BYTES = 8192
"""Smaller answers fit into a few packets, and compressing them takes longer than sending them."""

GZIP_LEVEL = 1
"""Level 1 compresses the answer for 5,000 names tenfold in 0.8 ms of CPU time. Level 6 takes 3 ms to save 4 KB more
(docs/reference/performance.md)."""

MAX_ANSWER_BYTES = 6_000_000
"""The largest answer of a Lambda function in bytes, as complete JSON, rounded down."""

_LARGEST_GROWTH = 3
"""Maximum bytes of JSON text per byte of UTF-8: `\\u00fc` stands for two, a pair of such escapes for four."""

_ENVELOPE_BYTES = 200
"""Bytes for the status, the headers and the names of the answer's fields."""

_JSON = {"Content-Type": "application/json"}
_GZIP = {**_JSON, "Content-Encoding": "gzip"}


class HTTPAnswer(TypedDict):
    """The answer from which the gateway makes its response. The gateway adds Content-Length (fact 6)."""

    statusCode: int
    headers: dict[str, str]
    body: str
    isBase64Encoded: bool


def http_answer(status: int, body: bytes) -> HTTPAnswer:
    return {"statusCode": status, "headers": _JSON, "body": body.decode(), "isBase64Encoded": False}


def lambda_answer(status: int, body: bytes, event: HTTPEvent) -> HTTPAnswer | None:
    """Return Lambda's answer: compressed if the body is large and the event's caller accepts it; None if it is larger
    than Lambda allows."""
    if len(body) > COMPRESS_ABOVE_BYTES and accepts_gzip(event):
        text = base64.b64encode(gzip.compress(body, GZIP_LEVEL, mtime=0)).decode()
        found: HTTPAnswer = {"statusCode": status, "headers": _GZIP, "body": text, "isBase64Encoded": True}
        return found if len(text) <= MAX_ANSWER_BYTES - _ENVELOPE_BYTES else None
    return http_answer(status, body) if _fits(body) else None


def accepts_gzip(event: HTTPEvent) -> bool:
    """Return whether Accept-Encoding lists gzip, as Go's client does (fact 1). `*` does not count as gzip."""
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


RESERVE_SECONDS = 1.0
"""Seconds of the scheduler's httpTimeout that are reserved for the network and the gateway (fact 23)."""


LONGEST_WAIT_SECONDS = 30.0
"""The most seconds that an HTTP API waits for a function, and the largest httpTimeout that the stack accepts."""


def call_deadline(event: Mapping[str, object], http_timeout: float, clock: Clock) -> Deadline:
    """Return the deadline. Call it when the handler begins. `http_timeout`: the scheduler's httpTimeout, in seconds."""
    return Deadline(http_timeout - RESERVE_SECONDS - _age(event, clock.wall()), clock.monotonic)


def _age(event: Mapping[str, object], now: float) -> float:
    """Return the seconds since the gateway got the request; 0 if that is unknown or impossible."""
    context = event.get("requestContext")
    milliseconds = context.get("timeEpoch") if isinstance(context, Mapping) else None
    if not isinstance(milliseconds, int | float):
        return 0.0
    age = now - milliseconds / 1000
    return age if 0 <= age <= LONGEST_WAIT_SECONDS else 0.0
