"""Freshness of the node cache: the data of a call, its reads, and the reason if data is missing or stale."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from berth.extender import preempt
from berth.extender.deadline import Deadline
from berth.extender.ports import CacheUnavailable
from berth.nodecache.feed.head import Observation, Pointer, Position, PublishedVersion, in_every_part
from berth.nodecache.feed.reader import DEADLINE_PASSED
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.warm_node_cache import CLOCKS_DIFFER, NO_NEWS, NOT_RUNNING, StalenessReason
from berth.scheduling.configuration.document import BerthConfiguration, WhenStale
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.custom_plugins import NAMED, installed_plugins
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.fakes.cache_tables import outage
from tests.fakes.verbs import Verbs
from tests.unit.lease.clocks import EnvironmentClock

OUTAGE = "node cache table berth-cache: the table is throttled (ThrottlingException)"


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


def test_each_call_reports_the_age_of_its_data() -> None:
    verbs = Verbs([labelled("n1", "10")])
    snapshot_of(verbs)
    verbs.clock.advance(3)
    snapshot_of(verbs)
    assert verbs.ages == [0.0, 3.0]


def test_reports_age_of_stale_data() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.clock.set_wall(500)
    unavailable(verbs)
    assert verbs.ages == [500.0]


@pytest.mark.parametrize(
    ("age", "is_stale"),
    [
        pytest.param(180.0, False, id="exactly maxStaleness"),
        pytest.param(180.5, True, id="older than maxStaleness"),
        pytest.param(-5.0, False, id="from a watcher whose clock is ahead"),
    ],
)
def test_rejects_data_older_than_max_staleness(age: float, is_stale: bool) -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.clock.set_wall(age)
    assert isinstance(verbs.cache.current().cluster, CacheUnavailable) is is_stale


def test_stale_cache_returns_the_same_reason_each_time() -> None:
    """A reason with an age would change from call to call, and wake the pod each time (fact 17)."""
    verbs = Verbs([labelled("n1", "10")], configuration=configured(maxStaleness=60))
    verbs.clock.advance(61)
    reason = unavailable(verbs).reason
    assert reason == "the node cache is of 2023-11-14T22:13:20Z, older than maxStaleness (60 s); does the watcher run?"
    verbs.clock.advance(1000)
    assert unavailable(verbs).reason == reason


def test_uses_data_in_memory_during_outage_until_it_is_stale() -> None:
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


def test_does_not_read_the_head_again_within_the_minimum_interval() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(minHeadReadInterval=2))
    snapshot_of(verbs)
    verbs.table.calls.clear()
    verbs.clock.advance(1.9)
    snapshot_of(verbs)
    assert verbs.table.calls == []
    verbs.clock.advance(0.2)
    snapshot_of(verbs)
    assert verbs.table.calls == ["head"]


def test_configuration_selects_eventually_consistent_reads() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(eventuallyConsistent=True))
    snapshot_of(verbs)
    verbs.table.calls.clear()
    snapshot_of(verbs)
    assert verbs.table.calls == ["head_eventually"]


def test_next_call_reads_the_applied_configuration_only_once() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert verbs.cache.current().policy.profile.name == "label-priority"
    verbs.store.apply('{"profile": "resource-segregation"}')
    first = verbs.cache.current().policy
    assert first.profile.name == "resource-segregation"
    assert verbs.cache.current().policy is first


def test_reports_unreadable_configuration_and_keeps_the_previous_stale_behavior() -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configured(whenStale="pass"))
    snapshot_of(verbs)
    verbs.store.apply('{"managedResources": [{"name": "example.com/slot", "fieldOfLaterRelease": 1}]}')
    found = unavailable(verbs)
    assert found.reason.startswith("the applied configuration: managedResources.0.fieldOfLaterRelease: ")
    assert found.when_stale is WhenStale.PASS


def test_warns_once_if_plugins_changed_since_the_configuration_was_applied(tmp_path: Path) -> None:
    verbs = Verbs([labelled("n1", "10")])
    with installed_plugins(tmp_path) as version:
        verbs.store.apply(NAMED, plugin_version=version)
        snapshot_of(verbs)
        assert verbs.warnings == []
        verbs.store.apply(NAMED, plugin_version="2.0.0+b")
        for _ in range(2):
            snapshot_of(verbs)
    assert verbs.warnings == [
        f"the plugins here are {version}, but the configuration was applied with 2.0.0+b: apply it again when the "
        "deployment is over"
    ]


def _raises() -> None:
    raise TableUnavailable(OUTAGE)


@pytest.mark.parametrize("method", ["log", "chunks"])
def test_reports_failure_during_a_read_and_reads_again_at_the_next_call(method: str) -> None:
    verbs = Verbs([labelled("n1", "10")])
    action: Callable[[], object] = _raises
    if method == "chunks":
        verbs.cluster.compact()
    verbs.table.before[method] = action
    assert unavailable(verbs).reason == OUTAGE
    del verbs.table.before[method]
    assert list(snapshot_of(verbs).nodes) == ["n1"]


def test_does_not_read_a_table_after_the_deadline() -> None:
    """A cold start took all of the time: the scheduler no longer waits for the response."""
    verbs = Verbs([labelled("n1", "10")])
    found = verbs.cache.current(Deadline(0.0, verbs.clock.monotonic)).cluster
    assert isinstance(found, CacheUnavailable)
    assert found.reason == DEADLINE_PASSED
    assert verbs.table.calls == []


def test_uses_the_snapshot_in_memory_after_the_deadline() -> None:
    verbs = Verbs([labelled("n1", "10")])
    warm = snapshot_of(verbs)
    assert verbs.cache.current(Deadline(0.0, verbs.clock.monotonic)).cluster is warm
    assert verbs.warnings[-1].startswith(DEADLINE_PASSED)


@pytest.fixture
def silence() -> Iterator[Callable[[], object]]:
    """A table that does not answer until the test ends."""
    over = Event()
    yield lambda: over.wait(10)
    over.set()


def soon() -> Deadline:
    return Deadline(0.05, time.monotonic)


@pytest.mark.parametrize("method", ["head", "log", "chunks"])
def test_abandons_a_read_that_exceeds_the_deadline(method: str, silence: Callable[[], object]) -> None:
    verbs = Verbs([labelled("n1", "10")])
    if method == "chunks":
        verbs.cluster.compact()
    verbs.table.before[method] = silence
    found = verbs.cache.current(soon()).cluster
    assert isinstance(found, CacheUnavailable)
    assert found.reason == DEADLINE_PASSED


def test_uses_the_snapshot_in_memory_if_a_read_takes_too_long(silence: Callable[[], object]) -> None:
    verbs = Verbs([labelled("n1", "10")])
    warm = snapshot_of(verbs)
    verbs.table.before["head"] = silence
    assert verbs.cache.current(soon()).cluster is warm
    assert verbs.warnings == [f"{DEADLINE_PASSED}; what is in memory counts until it is 180 s old"]
    verbs.clock.advance(200)
    found = verbs.cache.current(soon()).cluster
    assert isinstance(found, CacheUnavailable)
    assert "older than maxStaleness" in found.reason


def test_slow_read_does_not_block_the_next_call(silence: Callable[[], object]) -> None:
    """The late read still holds the lock of the reader."""
    verbs = Verbs([labelled("n1", "10")])
    warm = snapshot_of(verbs)
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    verbs.table.before["log"] = silence
    for _ in range(2):
        found = verbs.cache.current(soon()).cluster
        assert isinstance(found, CacheUnavailable)
        assert found.reason == DEADLINE_PASSED
    assert list(warm.nodes) == ["n1"]


def test_returns_the_last_policy_if_reading_the_head_takes_too_long(silence: Callable[[], object]) -> None:
    verbs = Verbs([labelled("n1", "10")])
    last = verbs.cache.current().policy
    verbs.table.before["head"] = silence
    assert verbs.cache.policy(soon()) is last


FULL = BerthConfiguration(profile="full")
COUNTING = BerthConfiguration.model_validate({"managedResources": [{"name": "example.com/seat"}]})


def cluster_of_all_parts(configuration: BerthConfiguration) -> Verbs:
    verbs = Verbs([labelled("n1", "10")], configuration=configuration)
    verbs.cluster.publish("pods", [pod_object("running", node_name="n1"), pod_object("pending")])
    verbs.cluster.publish("namespaces", [{"metadata": {"name": "shop", "labels": {}}}])
    verbs.cluster.compact()
    return verbs


@pytest.mark.parametrize(
    ("configuration", "pods", "namespaces"),
    [
        pytest.param(BerthConfiguration(profile="label-priority"), 0, 0, id="label-priority reads nodes"),
        pytest.param(BerthConfiguration(profile="resource-segregation"), 0, 0, id="resource-segregation reads nodes"),
        pytest.param(BerthConfiguration(profile="managed-resources"), 1, 0, id="managed-resources reads nodes, pods"),
        pytest.param(COUNTING, 1, 0, id="counting resources reads pods in every profile"),
        pytest.param(FULL, 1, 1, id="full reads everything"),
    ],
)
def test_loads_only_parts_that_the_policy_reads(configuration: BerthConfiguration, pods: int, namespaces: int) -> None:
    snapshot = snapshot_of(cluster_of_all_parts(configuration))
    found = len(snapshot.nodes["n1"].pods), len(snapshot.unbound), len(snapshot.namespaces)
    assert found == (pods, pods, namespaces)


def test_loads_more_parts_if_an_applied_configuration_reads_more() -> None:
    verbs = cluster_of_all_parts(BerthConfiguration(profile="label-priority"))
    assert not snapshot_of(verbs).nodes["n1"].pods
    verbs.store.apply('{"profile": "full"}')
    assert [pod.name for pod in snapshot_of(verbs).nodes["n1"].pods] == ["running"]
    verbs.table.calls.clear()
    snapshot_of(verbs)
    assert verbs.table.calls == ["head"]


def test_preempt_loads_victims_for_any_policy() -> None:
    verbs = cluster_of_all_parts(BerthConfiguration(profile="label-priority"))
    snapshot = verbs.cache.current(reads=preempt.READS).cluster
    assert isinstance(snapshot, Snapshot)
    assert [pod.name for pod in snapshot.nodes["n1"].pods] == ["running"]


# The reason for data that is too old names its cause.

MAX_STALENESS = 60.0


def pointer_at(heartbeat: float, observed_at: float) -> Pointer:
    observation = Observation("cluster", {"nodes": Position("1", observed_at, observed_at)})
    return Pointer(1, 1, in_every_part(PublishedVersion(1, 1)), None, 0, 0, observation, heartbeat, "0.1.0")


@pytest.mark.parametrize(
    ("heartbeat_age", "cause"),
    [
        pytest.param(1.0, NO_NEWS, id="a watcher that published a second ago"),
        pytest.param(-1.0, NO_NEWS, id="a watcher whose clock is a second ahead"),
        pytest.param(-300.0, CLOCKS_DIFFER, id="a publication from the future"),
        pytest.param(300.0, NOT_RUNNING, id="an old publication"),
    ],
)
def test_reason_names_the_cause_by_heartbeat_age(heartbeat_age: float, cause: str) -> None:
    clock = EnvironmentClock()
    now = clock.wall()
    pointer = pointer_at(now - heartbeat_age, now - 1000)
    assert StalenessReason(clock).reason(pointer, MAX_STALENESS).endswith(f"(60 s); {cause}")


def test_new_heartbeat_with_an_old_time_means_that_clocks_differ() -> None:
    """The clock of this process is 1,000 s ahead of the watcher's."""
    clock = EnvironmentClock()
    staleness = StalenessReason(clock)
    pointer = pointer_at(clock.wall() - 1000, clock.wall() - 1000)
    staleness.note(pointer)
    assert staleness.reason(pointer, MAX_STALENESS).endswith(NOT_RUNNING)
    clock.advance(2)
    published = replace(pointer, heartbeat=pointer.heartbeat + 2)
    staleness.note(published)
    assert staleness.reason(published, MAX_STALENESS).endswith(CLOCKS_DIFFER)
    clock.advance(60)
    assert staleness.reason(published, MAX_STALENESS).endswith(NOT_RUNNING)


def test_new_heartbeat_after_a_long_pause_does_not_mean_that_clocks_differ() -> None:
    clock = EnvironmentClock()
    staleness = StalenessReason(clock)
    pointer = pointer_at(clock.wall() - 1000, clock.wall() - 1000)
    staleness.note(pointer)
    clock.advance(3600)
    published = replace(pointer, heartbeat=pointer.heartbeat + 2)
    staleness.note(published)
    assert staleness.reason(published, MAX_STALENESS).endswith(NOT_RUNNING)


# Warm-up events: what they load for the next call, and with which reads.

INTERVAL = BerthConfiguration.model_validate({"nodeCache": {"minHeadReadInterval": 2}})
COUNTS = BerthConfiguration.model_validate({"managedResources": [{"name": "example.com/slot"}]})


def test_warm_up_loads_new_data() -> None:
    verbs = Verbs([labelled("n1", "10")])
    assert verbs.cache.catch_up() == 1
    verbs.cluster.publish_nodes([labelled("n1", "20")])
    assert verbs.cache.catch_up() == 2
    verbs.table.calls.clear()
    verbs.cache.current()
    assert verbs.table.calls == ["head"]


def test_warm_up_reads_the_head_with_eventual_consistency() -> None:
    """A warm-up does not answer a caller, and the next call reads the head again."""
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.current()
    verbs.table.calls.clear()
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head_eventually"]


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param(INTERVAL, id="a call within the interval uses what was read"),
        pytest.param(COUNTS, id="reservations are read before the head"),
    ],
)
def test_warm_up_reads_the_latest_head_if_an_older_one_could_be_harmful(configuration: BerthConfiguration) -> None:
    verbs = Verbs([labelled("n1", "10")], configuration=configuration, ledger=InMemoryLedgerTable())
    verbs.cache.current()
    verbs.table.calls.clear()
    verbs.clock.advance(2.1)
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head"]


def test_first_warm_up_of_an_environment_reads_the_latest_head() -> None:
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.catch_up()
    assert verbs.table.calls.count("head") == 1
    assert "head_eventually" not in verbs.table.calls


def test_warm_up_reads_the_latest_head_if_the_configuration_changed() -> None:
    """The head that an eventually consistent read returns may not be the latest."""
    verbs = Verbs([labelled("n1", "10")])
    verbs.cache.current()
    verbs.store.apply('{"profile": "resource-segregation"}')
    verbs.table.calls.clear()
    verbs.cache.catch_up()
    assert verbs.table.calls == ["head_eventually", "head"]
