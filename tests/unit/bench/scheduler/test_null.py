"""The extender that does not look: it answers as Berth does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import orjson
import pytest

from berth.scheduling.objects import NodeInfo, read_node
from tests.bench import cluster
from tests.bench.scheduler.cases import Pods
from tests.bench.scheduler.extenders import null_answers
from tests.bench.scheduler.null import REJECTED, NullVerbs
from tests.bench.scheduler.workload import node_manifest, pending_manifest, pod_manifest
from tests.builders.requests import body_of, cache_mode
from tests.e2e.berth.label_priority import LABEL
from tests.fakes.verbs import Verbs

NODES = 20
NAMES = [cluster.node_name(index) for index in range(NODES)]
LABELLED = {
    name: int(labels[LABEL])
    for name, labels in ((name, node_manifest(index)["metadata"]["labels"]) for index, name in enumerate(NAMES))
    if LABEL in labels
}


@pytest.fixture
def berth() -> Verbs:
    """Under label-priority."""
    return Verbs([found for index in range(NODES) if isinstance(found := read_node(node_manifest(index)), NodeInfo)])


def _pod() -> dict[str, Any]:
    pod = pod_manifest(1, Pods.IDENTICAL)
    return pod | {"metadata": pod["metadata"] | {"namespace": "default", "uid": "uid"}}


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize"])
def test_answers_have_the_form_of_berths(berth: Verbs, verb: str) -> None:
    names = list(LABELLED) if verb == "prioritize" else NAMES  # the scheduler asks about those that filter passed
    found = orjson.loads(berth.send(verb, body_of(cache_mode(names, _pod()))).text)
    assert found in null_answers(LABELLED, NAMES)[verb]


def _asked(pod: dict[str, Any], lines: Iterator[bytes]) -> bytes:
    body = orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": NAMES})
    parts = iter([(body[:50], True), (body[50:], False)])
    sent: list[bytes] = []

    async def receive() -> dict[str, Any]:
        part, more = next(parts)
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    asyncio.run(NullVerbs({"/scheduler/filter": lines}, b"rejected")({"path": "/scheduler/filter"}, receive, send))
    return b"".join(sent)


def test_answers_by_turns_and_knows_pods_that_berth_rejects() -> None:
    lines = cycle([b"first", b"second"])
    assert [_asked(pod_manifest(1, Pods.IDENTICAL), lines) for _ in range(3)] == [b"first", b"second", b"first"]
    assert _asked(pending_manifest(1), lines) == b"rejected"
    [rejected] = null_answers(LABELLED, NAMES)[REJECTED]
    assert set(rejected["FailedAndUnresolvableNodes"]) == set(NAMES)  # type: ignore[index]
