"""Calls of a verb as Lambda makes them, from the bytes of the event to the bytes of the response, and a baseline."""

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
from berth.runtime.http.events import HTTPAnswer, HTTPEvent
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.bench import cluster
from tests.bench.cluster import Manifest
from tests.bench.figures import Timed

Verb = Literal["filter", "filter_onlyone", "prioritize"]


class Environment(NodeCache):
    """A warm environment of a verb. The cache is a given snapshot, so its update is not measured."""

    def __init__(self, verb: Verb, profile: str, pod: Manifest, nodes: int) -> None:
        self._verb, self._profile = verb, profile
        self._nodes = nodes
        self.replace_pod(pod)
        self._event = next(self._events)
        self._snapshot = cluster.snapshot(nodes)
        self._changes = cluster.changes(self._snapshot)
        self.forget()

    def current(
        self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS, *, pod_version: str = ""
    ) -> DecisionContext:
        return DecisionContext(self._policy, self._snapshot)

    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        return self._policy

    def forget(self) -> None:
        """Forget all verdicts, as in a new environment."""
        self._policy = self.configuration().policy()
        answer, failed = _VERBS[self._verb]
        self._endpoint = VerbEndpoint(self._verb, EndpointSettings(), partial(answer, cache=self), failed)

    def configuration(self) -> BerthConfiguration:
        """Return the configuration in force."""
        return BerthConfiguration(profile=self._profile)

    def replace_pod(self, pod: Manifest) -> None:
        self._events = cycle([event(self._verb, pod, names) for names in cluster.requested_names(self._nodes)])

    def change(self) -> None:
        """Take the next snapshot: 1 % of the nodes change."""
        self._snapshot = next(self._changes)

    def answer(self) -> bytes:
        return orjson.dumps(self.handle(self.next_event()))

    def next_event(self) -> HTTPEvent:
        """Return the next event, decoded as the Lambda runtime does it."""
        self._event = next(self._events)
        found: HTTPEvent = orjson.loads(self._event)
        return found

    def handle(self, event: HTTPEvent) -> HTTPAnswer:
        return self._endpoint.handle(event)

    def floor(self) -> bytes:
        """Answer like a minimal extender behind this API, which accepts every name without a decision."""
        names = orjson.loads(orjson.loads(self._event)["body"])["NodeNames"]
        answer: object = {
            "Nodes": None,
            "NodeNames": names,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }
        if self._verb == "prioritize":
            answer = [{"Host": name, "Score": 0} for name in names]
        return orjson.dumps({"statusCode": 200, "body": orjson.dumps(answer).decode(), "isBase64Encoded": False})

    @property
    def timed_floor(self) -> Timed:
        return Timed(self.floor)

    @property
    def unchanged(self) -> Timed:
        return Timed(self.answer)

    @property
    def changed(self) -> Timed:
        """Return a call with a known pod shape after 1 % of the nodes changed."""
        return Timed(self.answer, self.change)


_VERBS: Mapping[Verb, tuple[Callable[..., Reply], Callable[[Failure], Reply]]] = {
    "filter": (filtering.answer_filter, filtering.failed),
    "filter_onlyone": (filtering.answer_filter_onlyone, filtering.failed),
    "prioritize": (prioritize.answer_prioritize, prioritize.failed),
}


def event(verb: Verb, pod: Manifest, names: list[str]) -> bytes:
    """Return an event as Lambda passes it to the runtime: JSON with the request as text."""
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
