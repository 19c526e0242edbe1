"""The verbs on an in-memory cache: real endpoints, answers as the scheduler would read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from berth.extender import filter as filtering
from berth.extender import preempt, prioritize
from berth.nodecache.in_memory_table import InMemoryCacheTable
from berth.nodecache.reader import NodeCacheReader
from berth.nodecache.table import CacheTable
from berth.runtime.endpoint import Endpoint
from berth.scheduling.configuration import BerthConfiguration
from berth.scheduling.objects import NodeInfo
from tests.builders.events import http_event
from tests.builders.heads import publish
from tests.builders.requests import body_of
from tests.fakes.cache_tables import CountingCacheTable
from tests.fakes.clock import HandDrivenClock


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a handler; `text` is the body as it was sent."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return orjson.loads(self.text)

    @property
    def error(self) -> str:
        """The `Error` of the body."""
        error: str = self.json["Error"]
        return error


def call(handler: Callable[..., Mapping[str, Any]], body: str | bytes | None, verb: str = "filter") -> Answer:
    """Send the body to a function's handler as the HTTP API would."""
    answer = handler(http_event(body, f"POST /scheduler/{verb}"), None)
    assert answer["isBase64Encoded"] is False
    return Answer(answer["statusCode"], answer["body"], answer["headers"])


class Verbs:
    """One warm environment of each verb that decides, reading one cache that holds the given nodes."""

    def __init__(
        self,
        nodes: Iterable[NodeInfo] | None = None,
        *,
        configuration: BerthConfiguration | None = None,
        table: CacheTable | None = None,
    ) -> None:
        self.clock = HandDrivenClock()
        self.table = CountingCacheTable(table or InMemoryCacheTable())
        if nodes is not None:
            publish(self.table, nodes)
        policy = (configuration or BerthConfiguration()).policy()
        snapshots = NodeCacheReader(self.table, self.clock.sleep)
        self._endpoints = {
            "filter": Endpoint(
                "filter",
                partial(filtering.answer_filter, policy=policy, snapshots=snapshots),
                filtering.failed,
            ),
            "filter_onlyone": Endpoint(
                "filter_onlyone",
                partial(filtering.answer_filter_onlyone, policy=policy, snapshots=snapshots),
                filtering.failed,
            ),
            "prioritize": Endpoint(
                "prioritize",
                partial(prioritize.answer_prioritize, policy=policy, snapshots=snapshots),
                prioritize.failed,
            ),
            "preempt": Endpoint(
                "preempt",
                partial(preempt.answer_preempt, policy=policy, snapshots=snapshots),
                preempt.failed,
            ),
        }

    def ask(self, verb: str, request: object) -> Answer:
        """Send the request, as JSON."""
        return self.send(verb, body_of(request))

    def send(self, verb: str, body: str | bytes | None) -> Answer:
        """Send the body as it is."""
        endpoint = self._endpoints[verb]
        return call(lambda event, context: endpoint.handle(event), body, verb)
