"""GET /decisions of `berth serve`: the last decisions that its verbs made, of one pod or of all."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import parse_qs

import orjson

from berth.decisions.call_record import CallRecord
from berth.decisions.document import MOST_ANSWERED, MOST_WITH_NODES, call_document, document, with_every_node
from berth.decisions.recent import RecentDecisions
from berth.decisions.record import Record
from berth.extender.deadline import Deadline
from berth.runtime.http.answers import HTTPAnswer, http_answer
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPEvent

ROUTE = "GET /decisions"


class DecisionsOutcome(StrEnum):
    """BAD_REQUEST: `pod` is not NAMESPACE/NAME."""

    OK = "ok"
    BAD_REQUEST = "failure-bad-request"


class DecisionsEndpoint(Endpoint):
    """Answers from memory. Scores by plugin are computed for the request, of one pod or of few decisions."""

    def __init__(self, settings: EndpointSettings, recent: RecentDecisions) -> None:
        super().__init__("decisions", settings)
        self._recent = recent

    def _respond(self, event: HTTPEvent, caller: str, started: float, deadline: Deadline) -> HTTPAnswer:
        query = parse_qs(str(event.get("rawQueryString", "")))
        pod, every_node = "".join(query.get("pod", ())[:1]), query.get("nodes") == ["1"]
        namespace, slash, name = pod.partition("/")
        if pod and not (slash and namespace and name):
            reason = "pod is not NAMESPACE/NAME"
            self._log_ended(DecisionsOutcome.BAD_REQUEST, reason, caller, started, failed=True)
            return http_answer(400, orjson.dumps({"reason": reason}))
        kept: list[Record | CallRecord] = sorted(
            [*self._recent.all(), *self._recent.calls()], key=lambda record: record.at
        )
        found = [each for each in kept if not pod or _pod_of(each) == (namespace, name)]
        content = {
            "kept": len(kept),
            "since": round(kept[0].at, 3) if kept else None,
            "droppedUntil": self._recent.dropped_until,
            "decisions": [
                _document(each, every_node=every_node, by_plugin=every_node or bool(pod))
                for each in found[-(MOST_WITH_NODES if every_node else MOST_ANSWERED) :]
            ],
        }
        self._log_ended(DecisionsOutcome.OK, f"{len(found)} decisions", caller, started, failed=False)
        return http_answer(200, orjson.dumps(content))


def _pod_of(record: Record | CallRecord) -> tuple[str, str]:
    named = record if isinstance(record, CallRecord) else record.pod
    return named.namespace, named.name


def _document(record: Record | CallRecord, *, every_node: bool, by_plugin: bool) -> dict[str, object]:
    if isinstance(record, CallRecord):
        return call_document(record)
    if every_node:
        return with_every_node(record, by_plugin=by_plugin)
    return document(record, record.names(), by_plugin=by_plugin)
