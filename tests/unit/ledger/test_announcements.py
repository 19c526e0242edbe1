"""When an announcement ends."""

from __future__ import annotations

import pytest

from berth.extender.ports import PodCoverage
from berth.ledger.announcements import AnnouncementReader, BegunBind, has_ended, pod_on_node
from berth.scheduling.objects import Pod, read_pod, read_pods
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.builders.nodes import node
from tests.builders.pods import pod_object, pod_with

NODES = (node("node-a"), node("node-b"))


def on(name: str) -> list[Pod]:
    """The cache's pod p on this node; empty: unbound."""
    return read_pods([pod_object("p", node_name=name)])[0]


@pytest.mark.parametrize(
    ("pods", "seen", "withdrawn", "ends"),
    [
        pytest.param([], PodCoverage("9", 50), False, False, id="the cache has not seen the pod"),
        pytest.param([], PodCoverage("9", 500), False, False, id="the cache is far behind and has not seen the pod"),
        pytest.param([], PodCoverage("10", 50), False, True, id="the cache has seen the deleted pod"),
        pytest.param(
            on(""), PodCoverage("10", 50), False, False, id="the pod is unbound and its Binding may still arrive"
        ),
        pytest.param(on(""), PodCoverage("10", 100), False, False, id="the Binding may arrive until the deadline"),
        pytest.param(on(""), PodCoverage("10", 101), False, True, id="the Binding can no longer arrive"),
        pytest.param(on("node-a"), PodCoverage("12", 50), False, True, id="the cache shows the pod on its node"),
        pytest.param(on("node-b"), PodCoverage("12", 50), False, True, id="the pod is on another node"),
        pytest.param([], PodCoverage(), False, False, id="unknown versions"),
        pytest.param([], PodCoverage("", 101), False, True, id="unknown versions after the deadline"),
        pytest.param([], PodCoverage("9", 50), True, True, id="withdrawn"),
    ],
)
def test_announcement_ends_if_withdrawn_expired_or_shown_by_the_cache(
    pods: list[Pod], seen: PodCoverage, withdrawn: bool, ends: bool
) -> None:
    snapshot = Snapshot.of(NODES, pods)
    announced = announcement(resource_version="10", until=100, withdrawn=withdrawn)
    assert has_ended(announced, snapshot, seen) is ends


def test_announced_pod_equals_the_pod_in_the_cache_after_the_bind() -> None:
    wanted = pod_with("p", {"app": "db"}, affinity={"podAntiAffinity": {}}, tolerations=[{"operator": "Exists"}])
    placed = pod_on_node(wanted, "node-a", ())
    assert isinstance(placed, tuple)
    shown = read_pods([{**wanted, "spec": {**wanted["spec"], "nodeName": "node-a"}}])[0][0]
    assert placed[0] == shown
    assert placed[0].spec is shown.spec
    assert read_pod(wanted) != shown


def test_reader_starts_at_the_first_announcement_that_has_not_ended() -> None:
    log = InMemoryAnnouncementLog()
    for position in (1, 2, 3):
        log.append(announcement(position, f"p{position}"))
    log.withdraw(1, "attempt-1")
    reader = AnnouncementReader(log)
    found = reader.pods_to_add(reader.read()[0], Snapshot.of(NODES), PodCoverage())
    assert [pod.name for pod in found] == ["p2", "p3"]
    assert [each.position for each in reader.read()[0]] == [2, 3]


def test_reader_reads_from_the_start_of_a_new_table() -> None:
    log = InMemoryAnnouncementLog()
    log.append(announcement(1))
    reader = AnnouncementReader(log)
    reader.first = 9
    assert [each.position for each in reader.read()[0]] == [1]


@pytest.mark.parametrize(
    ("now", "announced", "counts"),
    [
        pytest.param(101.9, False, True, id="begun a moment ago"),
        pytest.param(102.0, False, False, id="begun too long ago"),
        pytest.param(100.1, True, False, id="announced meanwhile"),
    ],
)
def test_begun_bind_counts_until_its_announcement_or_expiry(now: float, announced: bool, counts: bool) -> None:
    log, bind = InMemoryAnnouncementLog(), BegunBind(announcement(1).pod.uid, "node-a", 100.0)
    log.begin(bind)
    if announced:
        log.append(announcement(1))
    assert [*AnnouncementReader(log, lambda: now).read()[1]] == ([bind] if counts else [])
    assert AnnouncementReader(log).read()[1] == ()
