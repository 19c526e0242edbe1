"""The HTTP API's authorizer: before every route, where callers have a password."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.http.authorizer_endpoint import AuthorizerSettings, SimpleAnswer, authorizer_endpoint
    from berth.runtime.http.events import HTTPEvent

    endpoint = authorizer_endpoint(AuthorizerSettings.from_environ(os.environ))


def handler(event: HTTPEvent, context: object) -> SimpleAnswer:
    """A request authorizer's event in (payload format 2.0), a simple response out."""
    return endpoint.handle(event)
