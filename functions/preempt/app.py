"""POST /scheduler/preempt."""

import os
import time
from functools import partial

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.extender.preempt import READS, AnsweredVictims, answer_preempt, empty_on_failure, failed
    from berth.runtime.adapters import node_cache, trial_cache
    from berth.runtime.http.endpoint import NodeCacheSettings, VerbEndpoint
    from berth.runtime.http.events import HTTPAnswer, HTTPEvent

    settings = NodeCacheSettings.from_environ(os.environ)
    cache = node_cache(settings, "preempt")
    tell = empty_on_failure if settings.password_in_url else failed
    answer = partial(answer_preempt, cache=cache, failed=tell, answered=AnsweredVictims(), sleep=time.sleep)
    endpoint = VerbEndpoint(
        "preempt", settings, answer, tell, partial(cache.catch_up, READS), trial_cache=trial_cache(settings)
    )


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """Answer ExtenderPreemptionArgs with an ExtenderPreemptionResult."""
    return endpoint.handle(event)
