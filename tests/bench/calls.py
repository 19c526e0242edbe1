"""Calls of a verb as Lambda makes them, from the bytes of the event to the bytes of the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import cycle
from typing import Literal

import orjson

from berth.extender import filter as filtering
from berth.extender import prioritize
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import Failure
from berth.extender.ports import DecisionContext, NodeCache
from berth.extender.reply import Reply
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.bench import cluster
from tests.bench.cluster import Manifest

Verb = Literal["filter", "filter_onlyone", "prioritize"]


class Environment(NodeCache):
    """A warm environment of a verb. The cache is a given snapshot, so its update is not measured."""

    def __init__(self, verb: Verb, profile: str, pod: Manifest, nodes: int) -> None:
        self._profile = profile
        self._events = cycle([event(verb, pod, names) for names in cluster.requested_names(nodes)])
        self._snapshot = cluster.snapshot(nodes)
        self._changes = cluster.changes(self._snapshot)
        self._policy = self.configuration().policy()
        answer, failed = _VERBS[verb]
        self._endpoint = VerbEndpoint(verb, EndpointSettings(), partial(answer, cache=self), failed)

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        return DecisionContext(self._policy, self._snapshot)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy

    def configuration(self) -> BerthConfiguration:
        """The configuration in force."""
        return BerthConfiguration(profile=self._profile)

    def change(self) -> None:
        """Take the next snapshot: 1 % of the nodes change."""
        self._snapshot = next(self._changes)

    def answer(self) -> bytes:
        """Decode the event and encode the answer as the Lambda runtime does it."""
        return orjson.dumps(self._endpoint.handle(orjson.loads(next(self._events))))


_VERBS: Mapping[Verb, tuple[Callable[..., Reply], Callable[[Failure], Reply]]] = {
    "filter": (filtering.answer_filter, filtering.failed),
    "filter_onlyone": (filtering.answer_filter_onlyone, filtering.failed),
    "prioritize": (prioritize.answer_prioritize, prioritize.failed),
}


def event(verb: Verb, pod: Manifest, names: list[str]) -> bytes:
    """The event as Lambda passes it to the runtime: JSON with the request as text."""
    path = f"/scheduler/{verb}"
    return orjson.dumps(
        {
            "version": "2.0",
            "routeKey": f"POST {path}",
            "rawPath": path,
            "headers": {"content-type": "application/json"},
            "requestContext": {"http": {"method": "POST", "path": path}},
            "body": orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).decode(),
            "isBase64Encoded": False,
        }
    )
