"""POST /scheduler/bind."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.cluster_settings import BindSettings
    from berth.runtime.http.bind_endpoint import bind_endpoint
    from berth.runtime.http.endpoint import EndpointSettings
    from berth.runtime.http.events import HTTPAnswer, HTTPEvent

    endpoint = bind_endpoint(EndpointSettings.from_environ(os.environ), BindSettings.from_environ(os.environ))


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """Answer ExtenderBindingArgs with an ExtenderBindingResult."""
    return endpoint.handle(event)
