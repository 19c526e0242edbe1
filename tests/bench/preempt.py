"""A preempt call with a cluster full of pods: 500 candidate nodes, 30 pods on each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import orjson

from berth.extender.preempt import answer_preempt, failed
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from tests.bench import cluster
from tests.bench.cluster import Manifest
from tests.bench.figures import Family, Figure, Timed, beside_floor
from tests.fakes.node_cache import FixedNodeCache

NODES = 500
TARGET = 10.0


def families() -> Iterator[Family]:
    """By profile and by how many of a node's pods the scheduler proposes to evict.

    all: every one of them. one: the first; where that is not room enough, Berth looks for more victims.
    """
    for profile in ("label-priority", "full"):
        for pod in ("plain",) if profile == "label-priority" else ("plain", "spread"):
            for victims in ("all", "one"):
                yield _family(profile, pod, victims)


def _family(profile: str, pod: str, victims: str) -> Family:
    name = f"preempt.{profile}.{pod}.{victims}.{NODES}"

    def measure() -> Iterator[Figure]:
        manifest = cluster.plain_pod() if pod == "plain" else cluster.spread_pod()
        environment = Environment(profile, manifest, 1 if victims == "one" else cluster.PODS_PER_NODE)
        # The baseline only decodes, so Berth's own search for victims has no target.
        target = TARGET if victims == "all" else None
        yield from beside_floor(name, Timed(environment.floor), Timed(environment.answer), target)

    return Family(name, measure)


class Environment:
    """A warm environment of the verb. `victims`: how many are proposed on each node."""

    def __init__(self, profile: str, pod: Manifest, victims: int) -> None:
        snapshot = cluster.snapshot(NODES)
        cache = FixedNodeCache(BerthConfiguration(profile=profile), snapshot)
        self._endpoint = VerbEndpoint("preempt", EndpointSettings(), partial(answer_preempt, cache=cache), failed)
        pod["spec"]["priority"] = 1000
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "8", "memory": "4Gi"}
        proposed = {name: [each.uid for each in node.pods[:victims]] for name, node in snapshot.nodes.items()}
        self._event = preempt_event(pod, proposed)

    def answer(self) -> bytes:
        """The response of the function."""
        return orjson.dumps(self._endpoint.handle(orjson.loads(self._event)))

    def floor(self) -> bytes:
        """The minimal extender behind this API: it accepts all victims without a decision."""
        review_victims = orjson.loads(orjson.loads(self._event)["body"])["NodeNameToMetaVictims"]
        body = orjson.dumps({"NodeNameToMetaVictims": review_victims}).decode()
        return orjson.dumps({"statusCode": 200, "body": body, "isBase64Encoded": False})


def preempt_event(pod: Manifest, proposed: dict[str, list[str]]) -> bytes:
    """The event as Lambda passes it to the runtime. proposed: UIDs by node."""
    victims = {name: {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0} for name, uids in proposed.items()}
    request = {"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}
    return orjson.dumps(
        {
            "version": "2.0",
            "routeKey": "POST /scheduler/preempt",
            "rawPath": "/scheduler/preempt",
            "headers": {"content-type": "application/json"},
            "requestContext": {"http": {"method": "POST", "path": "/scheduler/preempt"}},
            "body": orjson.dumps(request).decode(),
            "isBase64Encoded": False,
        }
    )
