"""The Lambda authorizer of the HTTP API, for every route of a stack whose callers authenticate with a password."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.http.authorizer_endpoint import AuthorizerSettings, authorizer_endpoint
    from berth.runtime.http.events import HTTPEvent

    endpoint = authorizer_endpoint(AuthorizerSettings.from_environ(os.environ))


def handler(event: HTTPEvent, context: object) -> dict[str, bool]:
    """Answer a request authorizer's event (payload format 2.0) with a simple response."""
    return endpoint.handle(event)
