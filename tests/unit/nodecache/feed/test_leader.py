"""The leader: when it publishes, what a publication contains, and how it resumes or handles a failed watch."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.nodecache.feed.changes import LEFT_OUT, Change, Key, Object, OmissionReason
from berth.nodecache.feed.cluster import Deleted, Failed, Modified
from berth.nodecache.feed.leader import Leader, Publication, PublishIntervals
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.feed.writer import Retention
from tests.unit.lease.clocks import AT, EnvironmentClock
from tests.unit.nodecache.feed.feeds import FailingTable, HeldLease, Store, new_id
from tests.unit.nodecache.feed.scripted_cluster import ScriptedCluster

INTERVALS = PublishIntervals(flush=0.5, heartbeat=1.5)
STEP = 2.0


class Leading:
    """A leader of a scripted cluster. `publications`: the publications that it reported."""

    def __init__(
        self, store: Store | None = None, *, uid: str = "cluster", objects: Mapping[Key, Object] | None = None
    ) -> None:
        self.store = store or Store()
        self.clock = EnvironmentClock()
        self.cluster = ScriptedCluster(self.clock, uid)
        self.table = FailingTable(self.store)
        self.publications: list[Publication] = []
        head = self.store.head()
        self.lease = HeldLease(self.store, new_id())
        self.leader = Leader(
            self.cluster,
            self.table,
            self.lease,
            self.lease.epoch,
            None if head is None else head.pointer,
            objects,
            clock=self.clock,
            sleep=self.clock.advance,
            new_id=new_id,
            intervals=INTERVALS,
            on_published=self.publications.append,
            retention=Retention(),
        )

    def listed(self, *nodes: str) -> Leading:
        """Publish these nodes, and clear the recorded publications and calls."""
        self.cluster.list_all(*nodes)
        self.leader.work(STEP)
        self.publications.clear()
        self.table.calls.clear()
        return self

    def work(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        calls = 0
        while self.clock.monotonic() < until - 1e-9:
            calls += 1
            assert calls < 100, "the leader works without waiting"
            self.leader.work(until - self.clock.monotonic())

    def nodes(self) -> list[list[str]]:
        return [[change.key for change in each.changes] for each in self.publications]


def with_refused_publication() -> Leading:
    """Return a leader that has published n1, and whose publication of n2 was refused."""
    leading = Leading().listed("n1")
    leading.table.faults = {"publish": ["refused"]}
    leading.cluster.add_node("n2")
    leading.leader.work(STEP)
    with pytest.raises(TableUnavailable):
        leading.work(0.5)
    return leading


def test_does_not_publish_until_every_resource_is_listed() -> None:
    leading = Leading()
    leading.cluster.add_node("n1")
    leading.work(10.0)
    assert leading.table.calls == []


def test_publishes_all_objects_once_every_resource_is_listed() -> None:
    leading = Leading()
    leading.cluster.list_all("n1", "n2")
    leading.leader.work(STEP)
    assert leading.nodes() == [["n1", "n2"]]
    assert leading.clock.wall() == AT


def test_heartbeat_does_not_delay_a_change() -> None:
    leading = Leading().listed("n1")
    leading.work(1.5)
    assert leading.nodes() == [[]]
    leading.cluster.add_node("n2")
    leading.leader.work(STEP)
    assert leading.nodes() == [[], ["n2"]]


def test_publishes_next_change_after_the_flush_interval() -> None:
    leading = Leading().listed("n1")
    leading.cluster.add_node("n2")
    leading.leader.work(STEP)
    leading.work(0.4)
    assert leading.nodes() == []
    leading.work(0.1)
    assert leading.nodes() == [["n2"]]


def test_continuous_changes_are_batched_by_flush_interval() -> None:
    """The first change comes 0.8 s after the last publication of changes, and is published 0.5 s later."""
    leading = Leading().listed("n1")
    leading.work(0.8)
    for number in range(12):
        leading.cluster.add_node(f"more-{number}")
        leading.work(0.2)
    assert [len(each) for each in leading.nodes()] == [3, 3, 3, 3]


def test_idle_leader_only_writes_the_head_once_per_heartbeat_interval() -> None:
    leading = Leading().listed("n1")
    leading.work(15.0)
    assert leading.table.calls == ["publish"] * 10
    assert leading.nodes() == [[]] * 10


def test_finish_writes_only_if_changes_are_pending() -> None:
    leading = Leading().listed("n1")
    leading.leader.finish()
    assert leading.table.calls == []


def test_publication_contains_epoch_changes_objects_and_observation() -> None:
    store = Store()
    Leading(store).listed("n1")
    leading = Leading(store, objects={("nodes", "n1"): {"metadata": {"name": "n1"}}})
    leading.cluster.add_node("n2", spec={})
    leading.leader.work(STEP)
    leading.work(0.5)
    [publication] = leading.publications
    node = {"metadata": {"name": "n2"}, "spec": {}}
    assert publication.epoch == 1
    assert publication.changes == [Change("nodes", "n2", node)]
    assert publication.objects == {("nodes", "n1"): {"metadata": {"name": "n1"}}, ("nodes", "n2"): node}
    assert publication.is_complete
    assert publication.observation == store.pointer.observation
    assert publication.observation.positions["nodes"].resource_version == "2"


def test_publication_is_incomplete_while_changes_are_pending() -> None:
    """A failed publication is repeated first, and the next publication contains the later changes."""
    leading = with_refused_publication()
    leading.cluster.add_node("n3")
    leading.leader.work(STEP)
    assert leading.nodes() == [["n2"], ["n3"]]
    assert [each.is_complete for each in leading.publications] == [False, True]


def test_resumes_predecessors_watches_without_a_snapshot() -> None:
    store = Store()
    Leading(store).listed("n1")
    leading = Leading(store, objects={("nodes", "n1"): {"metadata": {"name": "n1"}}})
    [positions] = leading.cluster.watched_from
    assert {name: position.resource_version for name, position in positions.items()} == {"nodes": "1", "pods": "1"}
    leading.cluster.add_node("n2")
    leading.leader.work(STEP)
    leading.work(0.5)
    assert leading.table.calls == ["put_log", "publish"]


def test_reports_reduced_pods_of_its_predecessor() -> None:
    store = Leading().listed("n1").store
    key = ("pods", "ml/large")
    reduced = {"metadata": {"name": "large", "namespace": "ml"}, LEFT_OUT: ["metadata.labels"]}
    leading = Leading(store, objects={("nodes", "n1"): {"metadata": {"name": "n1"}}, key: reduced})
    assert leading.leader.writer.omissions == {key: OmissionReason.REDUCED}


@pytest.mark.parametrize(
    ("uid", "objects"),
    [
        pytest.param("another", {}, id="another cluster behind the table"),
        pytest.param("cluster", None, id="a state that cannot be read"),
    ],
)
def test_lists_and_writes_a_snapshot_if_it_cannot_resume(uid: str, objects: Mapping[Key, Object] | None) -> None:
    store = Store()
    Leading(store).listed("n1")
    leading = Leading(store, uid=uid, objects=objects)
    assert leading.cluster.watched_from == [{}]
    leading.cluster.list_all("n2")
    leading.leader.work(STEP)
    assert leading.table.calls == ["put_chunks", "publish"]
    assert leading.nodes() == [["n2"]]


def test_first_publication_with_lost_response_does_not_write_a_second_snapshot() -> None:
    leading = Leading()
    leading.table.faults = {"publish": ["lost"]}
    leading.cluster.list_all("n1")
    with pytest.raises(TableUnavailable):
        leading.leader.work(STEP)
    leading.leader.work(STEP)
    assert leading.table.calls.count("put_chunks") == 1
    assert leading.nodes()[0] == ["n1"]


def test_raises_the_cause_of_a_failed_watch() -> None:
    leading = Leading().listed("n1")
    leading.cluster.send("pods", Failed(KeyError("metadata")))
    with pytest.raises(KeyError, match="metadata"):
        leading.leader.work(STEP)


def test_publishes_modified_and_deleted_objects() -> None:
    leading = Leading().listed("n1", "n2")
    modified = {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}}
    leading.cluster.send("nodes", Modified(modified, "3"))
    leading.cluster.send("nodes", Deleted({"metadata": {"name": "n2"}}, "4"))
    leading.leader.work(STEP)
    leading.work(0.5)
    [publication] = leading.publications
    assert publication.changes == [Change("nodes", "n1", modified), Change("nodes", "n2", None)]
