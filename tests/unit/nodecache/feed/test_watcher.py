"""The watcher: how a run ends, what its result contains, and how it recovers from failures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest

from berth.lease.config import Handover, LeaderElectionConfig
from berth.lease.elector import LeaderElector
from berth.nodecache.feed.cluster import Added, Ended, Event, Interrupted, Modified
from berth.nodecache.feed.head import BEGINNING
from berth.nodecache.feed.leader import Publication, PublishIntervals
from berth.nodecache.feed.table import LogItem, LogWrite
from berth.nodecache.feed.watcher import FOLLOW_SECONDS, RunResult, Watcher, WatcherOutcome
from berth.scheduling.snapshot.parts import SnapshotPart
from berth_cli.server.store.lease_lock import InMemoryLeaseLock
from tests.fakes.cache_tables import InterruptedCacheTable, outage
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.nodecache.feed.feeds import HeldLease, Store, new_id
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster

RUN_SECONDS = 20.0
HORIZON_SECONDS = 60.0


class Running:
    """A run of the watcher over a scripted cluster. `at` schedules an action after this many seconds."""

    def __init__(self, store: Store | None = None, *, once: bool = False, run_seconds: float = RUN_SECONDS) -> None:
        self.store = store or Store()
        self.clock = EnvironmentClock()
        self.cluster = ScriptedCluster(self.clock)
        self.table = InterruptedCacheTable(self.store, {})
        self.publications: list[Publication] = []
        self.causes: list[tuple[float, str]] = []
        self.recoveries: list[float] = []
        self.slept: list[float] = []
        self.stops = False
        self.may_wait = True
        self.longest_sleep = math.inf
        self._started = self.clock.monotonic()
        self._asked = 0
        self._at: list[tuple[float, Callable[[], object]]] = []
        self.watcher = Watcher(
            LeaderElector(
                InMemoryLeaseLock(self.store.item, new_id),
                LeaderElectionConfig(),
                "watcher-1",
                self.clock,
                lambda: 0.0,
                handover=Handover(self.clock.wall() + run_seconds, HORIZON_SECONDS),
            ),
            self.cluster,
            self.table,
            clock=self.clock,
            sleep=self._sleep,
            stopped=self._stopped,
            new_id=new_id,
            on_published=self.publications.append,
            on_trouble=self._note,
            may_wait=lambda: self.may_wait,
            once=once,
        )

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        self._at.append((self.clock.monotonic() + seconds, action))

    def run(self) -> RunResult:
        return self.watcher.run()

    def _note(self, cause: str) -> None:
        at = self.clock.monotonic() - self._started
        if cause:
            self.causes.append((at, cause))
        else:
            self.recoveries.append(at)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(min(seconds, self.longest_sleep))

    def _stopped(self) -> bool:
        self._asked += 1
        assert self._asked < 1000, "the watcher works without waiting"
        now = self.clock.monotonic()
        due, self._at = [each for each in self._at if each[0] <= now], [each for each in self._at if each[0] > now]
        for _, action in due:
            action()
        return self.stops


def test_publishes_the_cluster_and_hands_the_lease_over() -> None:
    running = Running()
    running.cluster.list_all("n1", "n2")
    result = running.run()
    assert result.outcome is WatcherOutcome.HANDED_OVER
    assert (result.objects, result.nodes, result.reason) == (2, 2, "")
    assert result.publications == len(running.publications) > 10
    assert not result.failed
    assert running.cluster.stopped == 1
    item = running.store.item.get()
    assert item is not None
    assert item["holderIdentity"] == ""


def test_publishes_pending_changes_before_the_handover() -> None:
    running = Running()
    running.cluster.list_all("n1")
    running.cluster.send_later(RUN_SECONDS - 0.2, "nodes", Added({"metadata": {"name": "n2"}}, "2"))
    running.run()
    assert [change.key for each in running.publications for change in each.changes] == ["n1", "n2"]


def test_periodic_run_ends_after_first_publication() -> None:
    running = Running(once=True)
    running.cluster.list_all("n1")
    result = running.run()
    assert (result.outcome, result.publications) == (WatcherOutcome.HANDED_OVER, 1)


def test_watcher_ends_if_it_is_stopped() -> None:
    running = Running(run_seconds=3600.0)
    running.cluster.list_all("n1")
    running.at(5.0, lambda: setattr(running, "stops", True))
    started = running.clock.monotonic()
    assert running.run().outcome is WatcherOutcome.HANDED_OVER
    assert running.clock.monotonic() - started < 10.0


def test_watcher_ends_if_another_leader_is_healthy() -> None:
    store = Store()
    running = Running(store)
    LeaderElector(
        InMemoryLeaseLock(store.item, new_id), LeaderElectionConfig(), "leader", running.clock, lambda: 0.0
    ).step()
    assert running.run().outcome is WatcherOutcome.NOT_NEEDED
    assert running.table.calls == []


def test_candidate_does_not_read_if_another_candidate_waits_for_the_handover() -> None:
    store = Store()
    running = Running(store)
    running.may_wait = False
    soon = Handover(running.clock.wall() + HORIZON_SECONDS / 2, HORIZON_SECONDS)
    lock = InMemoryLeaseLock(store.item, new_id)
    LeaderElector(lock, LeaderElectionConfig(), "leader", running.clock, lambda: 0.0, handover=soon).step()
    result = running.run()
    assert (result.outcome, result.failed) == (WatcherOutcome.NOT_NEEDED, False)
    assert (running.table.calls, running.slept) == ([], [])


def test_waiting_candidate_reads_the_published_state_every_few_seconds() -> None:
    """A run sleeps for at most half a second, to end in time. Reading the head each time would cost more than all
    other reads of an idle cluster."""
    store = Store()
    running = Running(store)
    running.cluster.list_all("n1")
    running.longest_sleep = 0.5
    soon = Handover(running.clock.wall() + HORIZON_SECONDS / 2, HORIZON_SECONDS)
    lock = InMemoryLeaseLock(store.item, new_id)
    LeaderElector(lock, LeaderElectionConfig(), "leader", running.clock, lambda: 0.0, handover=soon).step()
    assert running.run().outcome is WatcherOutcome.HANDED_OVER
    lease = LeaderElectionConfig().lease_duration
    assert len(running.slept) > lease / running.longest_sleep
    # The leader makes the last read.
    assert 2 <= running.table.calls.count("head") <= 2 + lease / FOLLOW_SECONDS


def test_log_item_of_a_later_epoch_deposes_the_leader() -> None:
    running = Running()
    running.cluster.list_all("n1")

    def overtake() -> None:
        item = LogItem(SnapshotPart.NODES, running.store.pointer.version + 1, 7, BEGINNING, b"")
        assert running.store.put_log(running.store.uid, item, "another", 0.0) is LogWrite.WRITTEN
        running.cluster.add_node("n2")

    running.at(5.0, overtake)
    result = running.run()
    assert result.outcome is WatcherOutcome.DEPOSED
    assert "this epoch or a later one" in result.reason


def test_leader_is_deposed_if_another_takes_the_lease() -> None:
    running = Running()
    running.cluster.list_all("n1")
    running.at(5.0, lambda: HeldLease(running.store, "another"))
    result = running.run()
    assert result.outcome is WatcherOutcome.DEPOSED
    assert result.reason.startswith("another holds item")


def test_waits_at_most_a_flush_interval_while_the_table_is_unavailable() -> None:
    running = Running()
    running.cluster.list_all("n1")
    running.table.before["head"] = outage
    running.at(3.0, running.table.before.clear)
    result = running.run()
    assert max(running.slept) == PublishIntervals().flush
    assert result.outcome is WatcherOutcome.HANDED_OVER
    assert "throttled" in result.reason


def test_reports_table_that_stays_unavailable() -> None:
    running = Running()
    running.cluster.list_all("n1")
    running.table.before["head"] = outage
    result = running.run()
    assert result.outcome is WatcherOutcome.TABLE_UNAVAILABLE
    assert result.failed


def test_reports_cluster_that_stays_unavailable() -> None:
    running = Running()
    running.cluster.unavailable = "no route to host"
    assert running.run() == RunResult(WatcherOutcome.CLUSTER_UNAVAILABLE, reason="no route to host")


def test_watches_cluster_that_is_available_again() -> None:
    running = Running()
    running.cluster.unavailable = "no route to host"
    running.at(5.0, lambda: setattr(running.cluster, "unavailable", ""))
    running.cluster.list_all("n1")
    result = running.run()
    assert (result.outcome, result.reason) == (WatcherOutcome.HANDED_OVER, "no route to host")


def test_reports_at_once_why_it_cannot_publish() -> None:
    running = Running(run_seconds=900.0)
    running.cluster.unavailable = "no route to host"
    running.at(60.0, lambda: setattr(running.cluster, "unavailable", "not trusted"))
    running.at(120.0, lambda: setattr(running.cluster, "unavailable", ""))
    running.at(180.0, lambda: running.cluster.send("nodes", Interrupted("forbidden")))
    running.at(240.0, lambda: running.cluster.send("nodes", Interrupted("forbidden")))
    running.run()
    assert [cause for _, cause in running.causes] == ["no route to host", "not trusted", "nodes: forbidden"]
    assert all(said - since < 5.0 for (said, _), since in zip(running.causes, (0.0, 60.0, 180.0), strict=True))


def test_periodic_run_reports_a_failure_only_in_its_result() -> None:
    running = Running(once=True)
    running.cluster.unavailable = "no route to host"
    running.run()
    assert running.causes == []


def test_interrupted_watch_after_a_publication_is_not_a_failure() -> None:
    running = Running()
    running.cluster.list_all("n1")
    running.cluster.send("nodes", Interrupted("connection reset"))
    result = running.run()
    assert (result.outcome, result.reason) == (WatcherOutcome.HANDED_OVER, "nodes: connection reset")
    assert running.causes == []


@pytest.mark.parametrize(
    ("interruptions", "causes"),
    [
        pytest.param([Interrupted("reset"), Interrupted("reset")], ["nodes: reset"], id="the retry fails, too"),
        pytest.param([Interrupted("401", is_lasting=True)], ["nodes: 401"], id="a retry cannot succeed"),
        pytest.param([Interrupted("reset"), Ended(), Interrupted("reset")], [], id="the retry succeeds"),
    ],
)
def test_watch_that_stays_interrupted_after_a_publication_is_reported_until_it_works(
    interruptions: list[Event], causes: list[str]
) -> None:
    running = Running(run_seconds=60.0)
    running.cluster.list_all("n1")
    for second, event in enumerate(interruptions, 10):
        running.at(second, partial(running.cluster.send, "nodes", event))
    running.at(30.0, partial(running.cluster.send, "nodes", Ended()))
    running.run()
    assert [cause for _, cause in running.causes] == causes
    assert len(running.recoveries) == 1 + len(causes)
    assert running.recoveries[0] < 5.0
    assert not causes or 30.0 < running.recoveries[1] < 40.0


def test_failure_that_returns_at_once_is_reported_only_once() -> None:
    running = Running(run_seconds=60.0)
    running.cluster.list_all("n1")
    for second in range(10, 32, 2):
        event = Ended() if second % 4 else Interrupted("away", is_lasting=True)
        running.at(second, partial(running.cluster.send, "nodes", event))
    running.run()
    assert [cause for _, cause in running.causes] == ["nodes: away"]
    assert len(running.recoveries) == 2


def test_result_counts_and_names_omitted_objects_by_reason() -> None:
    running = Running(once=True)
    running.cluster.list_all("n1")
    running.cluster.add_node("bad", spec={"taints": ["\ud800"]})
    running.cluster.send("nodes", Modified({"metadata": {}}, "3"))
    result = running.run()
    assert result.events_without_name == 1
    assert result.omissions == ("nodes bad: not to be written as JSON",)
    assert result.failed
    assert result.summary == (
        "1 publications, 2 objects of them 2 nodes; left out 1 without a name; "
        "left out nodes bad: not to be written as JSON"
    )
