"""The HTTP API's authorizer: before every route, in both modes of authentication."""

import os

from berth.runtime.authorizer_settings import AuthorizerSettings
from berth.runtime.authorizing import AuthorizerEndpoint, SimpleAnswer, authorizer_for
from berth.runtime.http_event import HTTPEvent

endpoint = AuthorizerEndpoint(authorizer_for(AuthorizerSettings.from_environ(os.environ)))


def handler(event: HTTPEvent, context: object) -> SimpleAnswer:
    """A request authorizer's event in (payload format 2.0), a simple response out."""
    return endpoint.handle(event)
