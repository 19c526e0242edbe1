"""State shared by the functions of one process."""

from __future__ import annotations

from dataclasses import replace
from threading import get_ident
from time import monotonic

import pytest

from berth.extender.deadline import Deadline
from berth.lease.clock import SystemClock
from berth.ledger.announcements import BegunBind
from berth.runtime.adapters import node_cache, trial_cache
from berth.runtime.settings import PolicySettings
from berth.runtime.tables import Tables, tables_opened_by
from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.parts import NODES_AND_PODS, NODES_ONLY
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.cache_table import InMemoryConfigurationStore
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.pods import pod, pod_object
from tests.fakes.cache_tables import CountingCacheTable, InterruptedCacheTable
from tests.fakes.published import PublishedCluster
from tests.unit.lease.clocks import EnvironmentClock


def tables_with_a_node() -> Tables:
    cluster = PublishedCluster(EnvironmentClock(SystemClock().wall()))
    cluster.publish_nodes([NodeInfo("n1", {})])
    lock = InMemoryLeaseLock(InMemoryItem(), lambda: "id")
    return Tables(cluster.table, InMemoryConfigurationStore(cluster.item), lambda: lock, lambda: lock)


POLICY_OF_NODES = '{"profile": "label-priority"}'


@pytest.mark.parametrize("is_loaded", [False, True], ids=["not loaded", "loaded"])
def test_trial_loads_missing_parts_without_changing_the_environment(is_loaded: bool) -> None:
    """Otherwise each later call would also read the changes of pods."""
    cluster = PublishedCluster(EnvironmentClock(SystemClock().wall()))
    cluster.publish_nodes([NodeInfo("n1", {})])
    table, lock = CountingCacheTable(cluster.table), InMemoryLeaseLock(InMemoryItem(), lambda: "id")
    opened = Tables(table, InMemoryConfigurationStore(cluster.item), lambda: lock, lambda: lock, in_process=True)
    settings = PolicySettings(cache_table="t", configuration=POLICY_OF_NODES)
    with tables_opened_by(lambda settings, calls: opened):
        cache, for_trial = node_cache(settings, "filter"), trial_cache(settings)
    # The calls run outside of the block, because berth serve replaces the tables only while it loads the functions.
    before = cache.current(reads=NODES_AND_PODS if is_loaded else NODES_ONLY).cluster
    tried = for_trial(NODES_AND_PODS).current(reads=NODES_AND_PODS).cluster
    assert isinstance(tried, Snapshot)
    assert (tried is before) is is_loaded
    cluster.publish("pods", [pod_object("web", "ml", "uid", node_name="n1")])
    table.calls.clear()
    cache.current()
    assert table.calls == ["head"]
    assert len(cache.reader.parts) == (2 if is_loaded else 1)


def test_verbs_with_the_same_tables_share_snapshot_and_verdicts() -> None:
    settings, opened = PolicySettings(cache_table="t"), tables_with_a_node()
    with tables_opened_by(lambda settings, calls: opened):
        first, second = (node_cache(settings, verb).current() for verb in ("filter", "prioritize"))
    assert isinstance(first.cluster, Snapshot)
    assert first.cluster is second.cluster
    assert first.policy is second.policy


@pytest.mark.parametrize(
    ("verb", "in_process", "counts"),
    [
        pytest.param("prioritize", False, True, id="scores in a function"),
        pytest.param("filter", False, False, id="filter in a function"),
        pytest.param("prioritize", True, False, id="in the process of bind"),
    ],
)
def test_prioritize_counts_a_bind_of_another_process_from_its_start(verb: str, in_process: bool, counts: bool) -> None:
    settings, log = PolicySettings(cache_table="t", configuration='{"profile": "full"}'), InMemoryAnnouncementLog()
    opened = replace(tables_with_a_node(), announcements=log, in_process=in_process)
    with tables_opened_by(lambda settings, calls: opened):
        cache = node_cache(settings, verb)
    cache.asked_about(pod("web", uid="uid-web"))
    log.begin(BegunBind("uid-web", "n1", SystemClock().wall()))
    found = cache.current(reads=NODES_AND_PODS).cluster
    assert isinstance(found, Snapshot)
    assert [each.name for each in found.assumed.get("n1", ())] == (["web"] if counts else [])


@pytest.mark.parametrize("in_process", [False, True])
def test_verbs_use_threads_only_for_tables_behind_a_network(in_process: bool) -> None:
    threads: list[int] = []
    opened, settings = tables_with_a_node(), PolicySettings(cache_table="t")
    cache = InterruptedCacheTable(opened.cache, {"head": lambda: threads.append(get_ident())})
    with tables_opened_by(lambda settings, calls: replace(opened, cache=cache, in_process=in_process)):
        node_cache(settings, "filter").current(Deadline(10, monotonic))
    [reader] = threads
    assert (reader == get_ident()) is in_process


@pytest.mark.parametrize("configuration", ["", '{"profile": "full"}'])
def test_verbs_with_separate_tables_do_not_share_state(configuration: str) -> None:
    settings = PolicySettings(cache_table="t", configuration=configuration)
    with tables_opened_by(lambda settings, calls: tables_with_a_node()):
        first, second = (node_cache(settings, verb).current() for verb in ("filter", "prioritize"))
    assert first.cluster is not second.cluster
    assert first.policy is not second.policy
