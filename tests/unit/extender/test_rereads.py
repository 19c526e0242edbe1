"""filter waits for a listed node that the cache does not have yet, and for the end of a nominated pod's victims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import orjson
import pytest

from berth.extender.deadline import Deadline
from berth.extender.filter import Rereads, answer_filter, answer_filter_onlyone
from berth.extender.ports import REREAD_SECONDS, REREADS, CacheUnavailable
from berth.extender.reply import Reply
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node, node_with
from tests.builders.pods import pod_with
from tests.builders.requests import body_of, cache_mode
from tests.fakes.node_cache import FixedNodeCache, LateNodeCache

FIRST, FITS = node("rejected"), labelled("joined", "1")
ON = "nominated"
FULL = BerthConfiguration.model_validate({"profile": "full"})
VICTIM = pod_with("victim", requests={"cpu": "4"}, nodeName=ON)
NOMINATED = pod_with("waiting", priority=9, requests={"cpu": "4"}, status={"nominatedNodeName": ON})
LATE = LateNodeCache.LATE


def late(later: Snapshot | CacheUnavailable) -> LateNodeCache:
    first = Snapshot.of([FIRST])
    return LateNodeCache(*(FixedNodeCache(BerthConfiguration(), each) for each in (first, later)))


@pytest.mark.parametrize("answer", [answer_filter, answer_filter_onlyone])
def test_passes_a_joined_node_when_the_cache_has_it(answer: Callable[..., Reply]) -> None:
    cache = late(Snapshot.of([FIRST, FITS]))
    found = answer(body_of(cache_mode(["rejected", "joined"])), cache, rereads=Rereads(cache.sleep))
    assert orjson.loads(found.body)["NodeNames"] == ["joined"]
    assert cache.slept == [REREAD_SECONDS] * LATE


@pytest.mark.parametrize(
    ("names", "later", "pauses"),
    [
        pytest.param(["rejected"], Snapshot.of([FIRST]), 0, id="every node is known"),
        pytest.param(["absent"], Snapshot.of([FIRST, FITS]), REREADS, id="the node does not appear"),
        pytest.param(["joined"], Snapshot.of([node("joined")]), LATE, id="the joined node is rejected"),
        pytest.param(["joined"], CacheUnavailable("stale"), LATE, id="the cache becomes unavailable"),
    ],
)
def test_waits_before_rejecting_only_while_an_unknown_node_may_appear_in_the_cache(
    names: list[str], later: Snapshot | CacheUnavailable, pauses: int
) -> None:
    cache = late(later)
    found = answer_filter(body_of(cache_mode(names)), cache, rereads=Rereads(cache.sleep))
    assert orjson.loads(found.body)["NodeNames"] == []
    assert orjson.loads(found.body)["FailedAndUnresolvableNodes"].keys() == set(names)
    assert len(cache.slept) == pauses


def test_does_not_wait_if_another_node_fits() -> None:
    cache = FixedNodeCache(BerthConfiguration(), Snapshot.of([FITS]))
    found = answer_filter(
        body_of(cache_mode(["joined", "absent"])), cache, rereads=Rereads(lambda _: pytest.fail("it waits"))
    )
    assert orjson.loads(found.body)["NodeNames"] == ["joined"]


def test_waits_only_once_for_a_node_that_does_not_appear() -> None:
    cache = late(Snapshot.of([FIRST]))
    rereads = Rereads(cache.sleep)
    for _ in range(2):
        answer_filter(body_of(cache_mode(["absent"])), cache, rereads=rereads)
    assert len(cache.slept) == REREADS


def test_does_not_wait_beyond_the_deadline() -> None:
    cache = late(Snapshot.of([FIRST, FITS]))
    deadline = Deadline(0.2, lambda: sum(cache.slept))
    answer_filter(body_of(cache_mode(["absent"])), cache, deadline, rereads=Rereads(cache.sleep))
    assert sum(cache.slept) < 0.2


@pytest.mark.parametrize(
    ("later", "passed", "pauses"),
    [
        pytest.param((), [ON], LATE, id="the cache loses the victim"),
        pytest.param((VICTIM,), [], REREADS, id="the victim still runs"),
    ],
)
def test_nominated_pod_waits_until_the_cache_lacks_its_victims(
    later: Sequence[dict[str, object]], passed: list[str], pauses: int
) -> None:
    """If the scheduler has seen the victim's end, a rejection would end the nomination."""
    cache = LateNodeCache(*(FixedNodeCache.of(FULL, node_with(ON), *pods) for pods in ([VICTIM], later)))
    request = body_of(cache_mode([ON], pod=NOMINATED))
    found = orjson.loads(answer_filter(request, cache, rereads=Rereads(cache.sleep)).body)
    assert (found["NodeNames"], [*found["FailedNodes"]]) == (passed, [] if passed else [ON])
    assert len(cache.slept) == pauses


def test_pod_without_a_nomination_does_not_wait_for_pods_that_may_end() -> None:
    cache = FixedNodeCache.of(FULL, node_with(ON), VICTIM)
    pod = {**NOMINATED, "status": {}}
    answer_filter(body_of(cache_mode([ON], pod=pod)), cache, rereads=Rereads(lambda _: pytest.fail("it waits")))
