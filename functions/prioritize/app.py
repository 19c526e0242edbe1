"""POST /scheduler/prioritize."""

import os
from functools import partial

from berth.extender.prioritize import answer_prioritize, failed
from berth.runtime.adapters import node_cache
from berth.runtime.endpoint import Endpoint
from berth.runtime.http_event import HTTPAnswer, HTTPEvent
from berth.runtime.settings import PolicySettings

settings = PolicySettings.from_environ(os.environ)
cache = node_cache(settings)
answer = partial(answer_prioritize, cache=cache)
endpoint = Endpoint("prioritize", answer, failed, warm_up=cache.catch_up)


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """ExtenderArgs in, HostPriorityList out."""
    return endpoint.handle(event)
