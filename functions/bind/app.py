"""POST /scheduler/bind."""

import os
import time

from berth.configuration.store import ConfigurationInvalid
from berth.extender.bind import Deadline, answer_bind, failed
from berth.extender.outcomes import Failure, FailureOutcome
from berth.extender.reply import Reply
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.table import TableUnavailable
from berth.runtime.adapters import counted_in_force
from berth.runtime.cluster import connect
from berth.runtime.http.endpoint import Endpoint
from berth.runtime.http.events import HTTPAnswer, HTTPEvent
from berth.runtime.settings import BindSettings

settings = BindSettings.from_environ(os.environ)
in_force = counted_in_force(settings)


def answer(body: str | bytes) -> Reply:
    """Bind within the scheduler's httpTimeout less the second that fact 23 asks for."""
    deadline = Deadline(settings.http_timeout - 1, time.monotonic)
    try:
        counted = None if in_force is None else in_force.current()
        binder = connect(settings).binder
    except ClusterUnavailable as error:
        return failed(Failure(FailureOutcome.CLUSTER_UNAVAILABLE, str(error)))
    except (TableUnavailable, ConfigurationInvalid) as error:
        return failed(Failure(FailureOutcome.CACHE_UNAVAILABLE, f"what is counted is not known: {error}"))
    return answer_bind(body, binder, deadline, counted)


endpoint = Endpoint("bind", answer, failed)


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """ExtenderBindingArgs in, ExtenderBindingResult out."""
    return endpoint.handle(event)
