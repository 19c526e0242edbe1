"""GET /decisions of `berth serve`: returns the last decisions of its verbs, filtered by pod or node."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs

import orjson

from berth.decisions.document import (
    MAX_ANSWERED,
    MAX_WITH_NODES,
    call_document,
    document,
    header,
    with_every_node,
)
from berth.decisions.record import MAX_NAME_CHARACTERS, CallRecord, Record
from berth.runtime.http.endpoint import EndpointSettings, Page, PageEndpoint
from berth.runtime.http.events import HTTPEvent, http_answer
from berth_cli.server.endpoints import RequestOutcome
from berth_cli.server.recent_decisions import RecentDecisions

ROUTE = "GET /decisions"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The parsed query. pod: NAMESPACE/NAME; empty for all. node: a node that was evaluated; empty for any. every_node:
    whether to return all nodes with their verdicts."""

    pod: str
    node: str
    every_node: bool

    @classmethod
    def read(cls, query: str) -> _Wanted:
        found = parse_qs(query)
        return cls("".join(found.get("pod", ())[:1]), "".join(found.get("node", ())[:1]), found.get("nodes") == ["1"])

    @property
    def problem(self) -> str:
        """The error in the query; empty if the query is valid."""
        namespace, slash, name = self.pod.partition("/")
        if self.pod and not (slash and namespace and name):
            return "pod is not NAMESPACE/NAME"
        return "node is longer than the name of a node" if len(self.node) > MAX_NAME_CHARACTERS else ""

    def matches(self, record: Record | CallRecord) -> bool:
        named = record if isinstance(record, CallRecord) else record.pod
        if self.pod and self.pod != f"{named.namespace}/{named.name}":
            return False
        return not self.node or (isinstance(record, Record) and record.judges(self.node))

    @property
    def most(self) -> int | None:
        """The maximum number of decisions in the response; None for all that are kept."""
        if self.node:
            return None
        return MAX_WITH_NODES if self.every_node else MAX_ANSWERED

    def document(self, record: Record | CallRecord) -> dict[str, object]:
        if self.node:
            return header(record)
        if isinstance(record, CallRecord):
            return call_document(record)
        if self.every_node:
            return with_every_node(record, by_plugin=True)
        return document(record, record.names(), by_plugin=bool(self.pod))


def decisions_endpoint(settings: EndpointSettings, recent: RecentDecisions) -> PageEndpoint:
    """Return the endpoint. A query with `pod` or `nodes=1` also gets the scores by plugin, unless it has `node`."""

    def page(event: HTTPEvent) -> Page:
        wanted = _Wanted.read(str(event.get("rawQueryString", "")))
        if wanted.problem:
            answer = http_answer(400, orjson.dumps({"reason": wanted.problem}))
            return Page(RequestOutcome.BAD_REQUEST, answer, wanted.problem)
        kept: list[Record | CallRecord] = sorted([*recent.all(), *recent.calls()], key=lambda record: record.at)
        found = [each for each in kept if wanted.matches(each)]
        answered = found if wanted.most is None else found[-wanted.most :]
        content = {
            "kept": len(kept),
            "since": round(kept[0].at, 3) if kept else None,
            **({"node": wanted.node} if wanted.node else {}),
            "decisions": [wanted.document(each) for each in answered],
        }
        return Page(RequestOutcome.OK, http_answer(200, orjson.dumps(content)), f"{len(found)} decisions")

    return PageEndpoint("decisions", settings, page)
