"""Reading JSON the way Go reads the extender types: outer keys in any case, unknown keys ignored, null for absent."""

from __future__ import annotations

import orjson

from berth.extender.outcomes import Failure, bad_request

MAX_BODY_BYTES = 6_000_000
"""A Lambda invocation carries 6 MB. Behind the gateway a larger body never arrives; elsewhere it is refused alike."""

TOO_LARGE = "the request body is larger than 6 MB; set nodeCacheCapable: true, so that names are sent instead of nodes"


def decode_object(body: str | bytes) -> dict[str, object] | Failure:
    """The body's outer object with its keys folded to lower case."""
    if not body:
        return bad_request("the request body is empty; expected a JSON object")
    if is_too_large(body):
        return bad_request(TOO_LARGE)
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return bad_request("the request body is not JSON")
    if not isinstance(decoded, dict):
        return bad_request("the request body is not a JSON object")
    return folded(decoded)


def is_too_large(body: str | bytes) -> bool:
    """Whether it is above the limit, in bytes.

    Text is encoded only where its length does not decide: a character has 1 to 4 bytes.
    """
    if isinstance(body, str) and MAX_BODY_BYTES // 4 < len(body) <= MAX_BODY_BYTES and not body.isascii():
        return len(body.encode(errors="surrogatepass")) > MAX_BODY_BYTES
    return len(body) > MAX_BODY_BYTES


def pod_named_in(body: str | bytes) -> str:
    """`namespace/name` of the request's pod, for a log line about a request that could not be answered; else empty."""
    request = decode_object(body)
    if isinstance(request, Failure):
        return ""
    pod = request.get("pod")
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    if isinstance(metadata, dict):
        return f"{metadata.get('namespace')}/{metadata.get('name')}"
    return f"{request.get('podnamespace')}/{request.get('podname')}"


def folded(obj: dict[str, object]) -> dict[str, object]:
    """The object with lower-case keys, as encoding/json matches them (fact 2). Of equal keys the last one counts."""
    return {key.casefold(): value for key, value in obj.items()}
