"""POST /scheduler/preempt."""

from berth.extender.preempt import answer_preempt, failed
from berth.runtime.endpoint import Endpoint
from berth.runtime.http_event import HTTPAnswer, HTTPEvent

endpoint = Endpoint("preempt", answer_preempt, failed)


def handler(event: HTTPEvent, context: object) -> HTTPAnswer:
    """ExtenderPreemptionArgs in, ExtenderPreemptionResult out."""
    return endpoint.handle(event)
