"""POST /scheduler/filter_onlyone."""

import os
import time
from functools import partial

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.extender.filter import Rereads, answer_filter_onlyone, failed
    from berth.runtime.adapters import node_cache, open_gangs, trial_cache
    from berth.runtime.http.endpoint import NodeCacheSettings, VerbEndpoint
    from berth.runtime.http.events import HTTPAnswer, HTTPEvent

    settings = NodeCacheSettings.from_environ(os.environ)
    cache = node_cache(settings, "filter_onlyone")
    answer = partial(answer_filter_onlyone, cache=cache, open_gangs=open_gangs(settings), rereads=Rereads(time.sleep))
    endpoint = VerbEndpoint(
        "filter_onlyone", settings, answer, failed, cache.catch_up, trial_cache=trial_cache(settings)
    )


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """Answer ExtenderArgs with an ExtenderFilterResult."""
    return endpoint.handle(event)
