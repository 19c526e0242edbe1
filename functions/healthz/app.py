"""GET /healthz."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.adapters import cache_adapters
    from berth.runtime.http.endpoint import NodeCacheSettings
    from berth.runtime.http.events import HTTPAnswer, HTTPEvent
    from berth.runtime.http.health_endpoint import health_endpoint

    settings = NodeCacheSettings.from_environ(os.environ)
    endpoint = health_endpoint(settings, cache_adapters(settings))


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """Answer 200 if the verbs can decide, otherwise 503 with the reason."""
    return endpoint.handle(event)
