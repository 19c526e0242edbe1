"""POST /scheduler/prioritize."""

import os
from functools import partial

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.extender.prioritize import answer_prioritize, empty_on_failure, failed
    from berth.runtime.adapters import node_cache, trial_cache
    from berth.runtime.http.endpoint import NodeCacheSettings, VerbEndpoint
    from berth.runtime.http.events import HTTPAnswer, HTTPEvent

    settings = NodeCacheSettings.from_environ(os.environ)
    cache = node_cache(settings, "prioritize")
    tell = empty_on_failure if settings.password_in_url else failed
    answer = partial(answer_prioritize, cache=cache, failed=tell)
    endpoint = VerbEndpoint("prioritize", settings, answer, tell, cache.catch_up, trial_cache=trial_cache(settings))


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """Answer ExtenderArgs with a HostPriorityList."""
    return endpoint.handle(event)
