"""What invokes a function: an event of the HTTP API (payload format 2.0), of the watcher, of the pre-traffic hook, or
of `berth config apply`.

The gateway's events have a `requestContext` and no `source`; no caller can remove the one or add the other. Whoever
sends another event has the right to invoke the function.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from berth.extender.outcomes import Failure, bad_request

HTTPEvent = Mapping[str, object]


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


WARM_UP_SOURCE = "berth.warm-up"
WARM_UP_EVENT: Mapping[str, object] = {"source": WARM_UP_SOURCE}
"""The watcher sends it to a verb's function, which then loads the latest snapshot and answers no request."""


PRE_TRAFFIC_SOURCE = "berth.pre-traffic"
"""Of the requests that the pre-traffic hook makes of a new version. No caller stands behind them."""


CONFIGURATION_TRIAL_SOURCE = "berth.configuration-trial"
"""Of the events by which `berth config apply` asks a verb's function to try a document."""


def configuration_trial(document: str) -> Mapping[str, object]:
    """The event that tries this document."""
    return {"source": CONFIGURATION_TRIAL_SOURCE, "document": document}


def is_configuration_trial(event: Mapping[str, object]) -> bool:
    """Whether the event asks for a trial of a configuration."""
    return _is_from(event, CONFIGURATION_TRIAL_SOURCE)


def is_warm_up(event: Mapping[str, object]) -> bool:
    """Whether the watcher sent the event."""
    return _is_from(event, WARM_UP_SOURCE)


def is_pre_traffic(event: Mapping[str, object]) -> bool:
    """Whether the pre-traffic hook sent the event."""
    return _is_from(event, PRE_TRAFFIC_SOURCE)


def _is_from(event: Mapping[str, object], source: str) -> bool:
    return event.get("source") == source and "requestContext" not in event
