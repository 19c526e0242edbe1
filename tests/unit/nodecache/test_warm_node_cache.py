"""The contract on freshness: what a call decides on, what it costs, and what it says when that is not there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.extender.ports import CacheUnavailable
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.warm_node_cache import Freshness
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled
from tests.fakes.cache_tables import outage
from tests.fakes.verbs import Verbs

OUTAGE = "node cache table berth-cache: the table is throttled (ThrottlingException)"
EMPTY = "the node cache is empty: no watcher has published yet; is its schedule enabled?"


def configured(**node_cache: object) -> BerthConfiguration:
    return BerthConfiguration.model_validate({"nodeCache": node_cache})


def snapshot_of(verbs: Verbs) -> Snapshot:
    found = verbs.cache.current().cluster
    assert isinstance(found, Snapshot), found
    return found


def unavailable(verbs: Verbs) -> CacheUnavailable:
    found = verbs.cache.current().cluster
    assert isinstance(found, CacheUnavailable)
    return found


def test_a_warm_call_costs_one_read_of_the_head() -> None:
    verbs = Verbs([labelled("n1", "10")])
    first = snapshot_of(verbs)
    verbs.table.calls.clear()
    assert snapshot_of(verbs) is first
    assert verbs.table.calls == ["head"]


def test_a_change_costs_one_query_more() -> None:
    verbs = Verbs([labelled("n1", "10")])
    snapshot_of(verbs)
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    verbs.table.calls.clear()
    assert dict(snapshot_of(verbs).nodes["n1"].labels) == dict(labelled("n1", "20").labels)
    assert verbs.table.calls == ["head", "log"]


def test_a_call_tells_how_old_the_data_is_and_how_far_it_was_behind() -> None:
    verbs = Verbs([labelled("n1", "10")])
    snapshot_of(verbs)
    for priority in ("20", "30"):
        verbs.cluster.publish_nodes([labelled("n1", priority)])
    verbs.clock.advance(3)
    snapshot_of(verbs)
    snapshot_of(verbs)
    assert verbs.seen == [Freshness(age=0.0, lag=None), Freshness(age=3.0, lag=2), Freshness(age=3.0, lag=0)]


def test_how_old_it_is_is_told_of_what_is_too_old_to_decide_on_too() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.clock.set_wall(500)
    unavailable(verbs)
    assert [seen.age for seen in verbs.seen] == [500.0]


@pytest.mark.parametrize(
    ("age", "is_stale"),
    [
        pytest.param(180.0, False, id="as old as it may be"),
        pytest.param(180.5, True, id="older"),
        pytest.param(-5.0, False, id="from a watcher whose clock is ahead"),
    ],
)
def test_data_older_than_max_staleness_is_not_decided_on(age: float, is_stale: bool) -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.clock.set_wall(age)
    assert isinstance(verbs.cache.current().cluster, CacheUnavailable) is is_stale


def test_a_stale_cache_says_of_when_it_is_in_the_same_bytes_each_time() -> None:
    """An age would change from call to call, and wake the pod each time (fact 17)."""
    verbs = Verbs([labelled("n1", "10")], configuration=configured(maxStaleness=60))
    verbs.clock.advance(61)
    reason = unavailable(verbs).reason
    assert reason == "the node cache is of 2023-11-14T22:13:20Z, older than maxStaleness (60 s); does the watcher run?"
    verbs.clock.advance(1000)
    assert unavailable(verbs).reason == reason


@pytest.mark.parametrize("when_stale", WhenStale)
def test_what_a_verb_does_without_the_cache_is_the_configurations_choice(when_stale: WhenStale) -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(whenStale=when_stale))
    verbs.clock.advance(1000)
    assert unavailable(verbs).when_stale is when_stale


def test_an_empty_cache_says_what_to_do() -> None:
    assert unavailable(Verbs(nodes=None)).reason == EMPTY


def test_while_the_table_is_away_what_is_in_memory_counts_until_it_is_too_old() -> None:
    verbs = Verbs([labelled("n1", "10")])
    before = snapshot_of(verbs)
    verbs.table.before["head"] = outage
    verbs.clock.advance(100)
    assert snapshot_of(verbs) is before
    assert verbs.warnings == [f"{OUTAGE}; what is in memory counts until it is 180 s old"]
    verbs.clock.advance(100)
    assert "older than maxStaleness" in unavailable(verbs).reason
    del verbs.table.before["head"]
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    assert snapshot_of(verbs) is not before


def test_a_table_that_was_never_read_is_told_in_its_own_words() -> None:
    assert unavailable(Verbs(interrupted={"head": outage})).reason == OUTAGE


def test_within_the_least_interval_the_head_is_not_read_again() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(minHeadReadInterval=2))
    snapshot_of(verbs)
    verbs.table.calls.clear()
    verbs.clock.advance(1.9)
    snapshot_of(verbs)
    assert verbs.table.calls == []
    verbs.clock.advance(0.2)
    snapshot_of(verbs)
    assert verbs.table.calls == ["head"]


def test_the_least_interval_also_passes_while_the_environment_is_frozen() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(minHeadReadInterval=2))
    snapshot_of(verbs)
    verbs.table.calls.clear()
    verbs.clock.freeze(3)
    snapshot_of(verbs)
    assert verbs.table.calls == ["head"]


def test_reads_at_half_the_price_are_the_configurations_choice() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(eventuallyConsistent=True))
    snapshot_of(verbs)
    verbs.table.calls.clear()
    snapshot_of(verbs)
    assert verbs.table.calls == ["head_eventually"]


def test_a_warm_up_catches_up_without_being_asked_anything() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert verbs.cache.catch_up() == 1
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    assert verbs.cache.catch_up() == 2
    verbs.table.calls.clear()
    snapshot_of(verbs)
    assert verbs.table.calls == ["head"]


def test_an_applied_configuration_is_picked_up_by_the_next_call_and_read_once() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert verbs.cache.current().policy.profile.name == "label-priority"
    verbs.store.apply('{"profile": "resource-segregation"}')
    first = verbs.cache.current().policy
    assert first.profile.name == "resource-segregation"
    assert verbs.cache.current().policy is first


def test_a_configuration_that_cannot_be_read_is_told_and_the_last_one_says_what_to_do() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(whenStale="pass"))
    snapshot_of(verbs)
    verbs.store.apply('{"profile": "of a newer release"}')
    found = unavailable(verbs)
    assert found.reason.startswith("the applied configuration: profile: Input should be 'label-priority'")
    assert found.when_stale is WhenStale.PASS


def test_a_head_that_was_made_anew_points_to_the_applied_configuration_again() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply('{"profile": "resource-segregation"}')
    verbs.cluster.item.update(lambda item: True, {}, remove=["configurationHash"])
    verbs.store.restore()
    assert verbs.cache.current().policy.profile.name == "resource-segregation"


def test_restoring_does_not_replace_what_was_applied_meanwhile() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.store.apply('{"profile": "full"}')
    verbs.store.restore()
    assert verbs.cache.current().policy.profile.name == "full"


def _raises() -> None:
    raise TableUnavailable(OUTAGE)


@pytest.mark.parametrize("method", ["log", "chunks"])
def test_a_table_that_fails_on_the_way_is_told_and_read_again_by_the_next_call(method: str) -> None:
    verbs = Verbs([labelled("n1", "10")])
    happening: Callable[[], object] = _raises
    if method == "chunks":
        verbs.cluster.compact()
    verbs.table.before[method] = happening
    assert unavailable(verbs).reason == OUTAGE
    del verbs.table.before[method]
    assert list(snapshot_of(verbs).nodes) == ["n1"]
