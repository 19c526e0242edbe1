"""The verbs on an in-memory cache: real endpoints, with answers as the scheduler would read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from berth.configuration.store import Configurations
from berth.extender import filter as filtering
from berth.extender import preempt, prioritize
from berth.extender.ports import OpenGangs, no_open_gangs
from berth.extender.reply import DecisionRecorder
from berth.ledger.announcements import AnnouncementLog, AnnouncementReader
from berth.ledger.nodes.table import LedgerTable
from berth.nodecache.binds_under_way import BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.objects import NodeInfo
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from tests.builders.events import http_event
from tests.builders.requests import body_of
from tests.fakes.cache_tables import InterruptedCacheTable
from tests.fakes.published import PublishedCluster
from tests.unit.lease.clocks import EnvironmentClock


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a handler; `text` is the body as it was sent."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return orjson.loads(self.text)

    @property
    def error(self) -> str:
        error: str = self.json["Error"]
        return error


def call(handler: Callable[..., Mapping[str, Any]], body: str | bytes | None, verb: str = "filter") -> Answer:
    """Send the body to a function's handler as the HTTP API would."""
    answer = handler(http_event(body, f"POST /scheduler/{verb}"), None)
    assert answer["isBase64Encoded"] is False
    return Answer(answer["statusCode"], answer["body"], answer["headers"])


class Verbs:
    """A warm environment of each verb that decides; all read a cache with the given nodes."""

    def __init__(
        self,
        nodes: Iterable[NodeInfo] | None = None,
        *,
        configuration: BerthConfiguration | None = None,
        interrupted: Mapping[str, Callable[[], object]] | None = None,
        ledger: LedgerTable | None = None,
        announcements: AnnouncementLog | None = None,
        recorder: DecisionRecorder | None = None,
        open_gangs: OpenGangs = no_open_gangs,
        time_limit: TimeLimit = NO_TIME_LIMIT,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        """`interrupted`: actions just before a method of the table runs. `recorder`: of decisions. `open_gangs`: those
        that filter reads. `time_limit`: of each decision. `pause`: waits for a publication."""
        self.clock = EnvironmentClock()
        self.cluster = PublishedCluster(self.clock)
        self.table = InterruptedCacheTable(self.cluster.table, interrupted or {})
        self.store = InMemoryConfigurationStore(self.cluster.item)
        self.warnings: list[str] = []
        if nodes is not None:
            self.cluster.publish_nodes(nodes)
        reader = NodeCacheReader(self.table, SnapshotView(), self.clock.advance)
        configurations = Configurations(
            self.store, lambda: configuration or BerthConfiguration(), time_limit=time_limit
        )
        self.ages: list[float] = []
        log = None if announcements is None else AnnouncementReader(announcements)
        self.cache = WarmNodeCache(
            self.table,
            reader,
            configurations,
            self.clock,
            self.warnings.append,
            BindsUnderWay(ledger, log),
            self.ages.append,
            pause=pause,
        )
        self._endpoints = {
            verb: VerbEndpoint(verb, EndpointSettings(), partial(answer, cache=self.cache), failed, recorder=recorder)
            for verb, answer, failed in (
                ("filter", partial(filtering.answer_filter, open_gangs=open_gangs), filtering.failed),
                ("filter_onlyone", partial(filtering.answer_filter_onlyone, open_gangs=open_gangs), filtering.failed),
                ("prioritize", prioritize.answer_prioritize, prioritize.failed),
                ("preempt", preempt.answer_preempt, preempt.failed),
            )
        }

    def ask(self, verb: str, request: object) -> Answer:
        return self.send(verb, body_of(request))

    def send(self, verb: str, body: str | bytes | None) -> Answer:
        endpoint = self._endpoints[verb]
        return call(lambda event, context: endpoint.handle(event), body, verb)
