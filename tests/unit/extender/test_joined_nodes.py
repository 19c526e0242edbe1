"""filter waits for a node that the scheduler lists and the cache does not have yet."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.filter import JOIN_READS, JOIN_SECONDS, JoinedNodes, answer_filter, answer_filter_onlyone
from berth.extender.ports import CacheUnavailable, DecisionContext
from berth.extender.reply import Reply
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.requests import body_of, cache_mode
from tests.fakes.node_cache import FixedNodeCache

FIRST, FITS = node("rejected"), labelled("joined", "1")
LATE = 3
"""So many pauses until the cache has the node."""


class LateNodeCache(FixedNodeCache):
    """A cluster that changes after some pauses. Its `sleep` is the pause."""

    def __init__(self, later: Snapshot | CacheUnavailable) -> None:
        super().__init__(BerthConfiguration(), Snapshot.of([FIRST]))
        self._later = later
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def current(self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS) -> DecisionContext:
        if len(self.slept) >= LATE:
            self._cluster = self._later
        return super().current(deadline, reads)


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
def test_passes_a_joined_node_once_the_cache_has_it(answer: Callable[..., Reply]) -> None:
    cache = LateNodeCache(Snapshot.of([FIRST, FITS]))
    found = answer(body_of(cache_mode(["rejected", "joined"])), cache, joined=JoinedNodes(cache.sleep))
    assert orjson.loads(found.body)["NodeNames"] == ["joined"]
    assert cache.slept == [JOIN_SECONDS] * LATE


@pytest.mark.parametrize(
    ("names", "later", "pauses"),
    [
        pytest.param(["rejected"], Snapshot.of([FIRST]), 0, id="every node is known"),
        pytest.param(["absent"], Snapshot.of([FIRST, FITS]), JOIN_READS, id="the node does not appear"),
        pytest.param(["joined"], Snapshot.of([node("joined")]), LATE, id="the joined node is rejected"),
        pytest.param(["joined"], CacheUnavailable("stale"), LATE, id="the cache becomes unavailable"),
    ],
)
def test_pauses_only_while_node_may_appear_in_cache_before_rejecting(
    names: list[str], later: Snapshot | CacheUnavailable, pauses: int
) -> None:
    cache = LateNodeCache(later)
    found = answer_filter(body_of(cache_mode(names)), cache, joined=JoinedNodes(cache.sleep))
    assert orjson.loads(found.body)["NodeNames"] == []
    assert orjson.loads(found.body)["FailedAndUnresolvableNodes"].keys() == set(names)
    assert len(cache.slept) == pauses


def test_does_not_wait_if_another_node_fits() -> None:
    cache = FixedNodeCache(BerthConfiguration(), Snapshot.of([FITS]))
    found = answer_filter(
        body_of(cache_mode(["joined", "absent"])), cache, joined=JoinedNodes(lambda _: pytest.fail("it waits"))
    )
    assert orjson.loads(found.body)["NodeNames"] == ["joined"]


def test_waits_only_once_for_a_node_that_does_not_appear() -> None:
    cache = LateNodeCache(Snapshot.of([FIRST]))
    joined = JoinedNodes(cache.sleep)
    for _ in range(2):
        answer_filter(body_of(cache_mode(["absent"])), cache, joined=joined)
    assert len(cache.slept) == JOIN_READS


def test_does_not_wait_beyond_the_deadline() -> None:
    cache = LateNodeCache(Snapshot.of([FIRST, FITS]))
    deadline = Deadline(0.2, lambda: sum(cache.slept))
    answer_filter(body_of(cache_mode(["absent"])), cache, deadline, joined=JoinedNodes(cache.sleep))
    assert sum(cache.slept) < 0.2
