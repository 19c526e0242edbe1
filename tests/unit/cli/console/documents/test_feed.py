"""What pages are told, and what they are told after they were away."""

from __future__ import annotations

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo
from berth_cli.console.cluster.source import ClusterNotObserved, ObservedCluster
from berth_cli.console.documents import cluster_state
from berth_cli.console.documents.feed import MOST_CHANGES, Feed
from berth_cli.console.documents.rows import NodeRow, node_row
from tests.unit.cli.console.cases import DEFAULT, NOW, HandDrivenSource, node, pod, snapshot
from tests.unit.cli.console.page_reading import applied, nodes_of, pods_of


def feed_of(*names: str) -> tuple[Feed, HandDrivenSource]:
    source = HandDrivenSource(ObservedCluster(snapshot([node(name) for name in names]), NOW, DEFAULT))
    feed = Feed(source, lambda: NOW + 7)
    feed.observe(0)
    return feed, source


def test_has_no_document_before_the_first_look() -> None:
    source = HandDrivenSource(ClusterNotObserved("the cluster is being listed"))
    feed = Feed(source, lambda: NOW)
    feed.observe(0)
    assert (feed.nodes(), feed.pods()) == (None, None)
    assert feed.condition.problem == "the cluster is being listed"


def test_document_says_its_state_and_its_age() -> None:
    feed, _ = feed_of("n1")
    assert orjson.loads(feed.nodes() or b"") | {"nodes": None} == {
        "version": 1,
        "sequence": 1,
        "ageSeconds": 7.0,
        "maxStalenessSeconds": 180.0,
        "problem": "",
        "source": {"kind": "dump", "name": "dump.json"},
        "counted": [],
        "nodes": None,
    }


def test_each_change_is_numbered_and_found_by_the_state_before_it() -> None:
    feed, source = feed_of("n1")
    source.shows(snapshot([node("n1"), node("n2")]))
    feed.observe(0)
    source.shows(snapshot([node("n2")]))
    feed.observe(0)
    assert [each.sequence for each in feed.changes_after(1) or ()] == [2, 3]
    assert [each.sequence for each in feed.changes_after(2) or ()] == [3]
    assert feed.changes_after(3) == []


def test_nothing_new_is_no_change_but_makes_the_data_younger() -> None:
    feed, source = feed_of("n1")
    source.shows(snapshot([node("n1")]), observed_at=NOW + 5)
    feed.observe(0)
    assert feed.condition.document(NOW + 7) | {"maxStalenessSeconds": 0} == {
        "sequence": 1,
        "ageSeconds": 2.0,
        "maxStalenessSeconds": 0,
        "problem": "",
    }
    assert feed.changes_after(1) == []


def test_condition_says_from_which_age_on_verbs_call_the_data_stale() -> None:
    feed, source = feed_of("n1")
    woken: list[float | None] = []
    document = BerthConfiguration.model_validate({"nodeCache": {"maxStaleness": 60.0}})
    source.shows(snapshot([node("n1")]), configured=ActiveConfiguration.of(document))
    with feed.listening(lambda: woken.append(feed.condition.max_staleness)):
        feed.observe(0)
    source.found = ClusterNotObserved("the API server cannot be reached")
    feed.observe(0)
    assert (woken, feed.condition.document(NOW)["maxStalenessSeconds"]) == ([60.0], 60.0)


def test_another_configuration_is_a_change() -> None:
    """Reasons of pending pods, and what a view shows of the policy, are of the configuration."""
    feed, source = feed_of("n1")
    source.shows(snapshot([node("n1")]), configured=ActiveConfiguration.of(BerthConfiguration()))
    for _ in range(2):
        feed.observe(0)
    [change] = [orjson.loads(each.document) for each in feed.changes_after(1) or ()]
    assert (change["sequence"], change["nodes"]["changed"]["id"]) == (2, [])


@pytest.mark.parametrize("since", [0, 1, 9999], ids=["before the first state", "too far behind", "of another process"])
def test_page_that_cannot_follow_reads_everything(since: int) -> None:
    feed, source = feed_of("n1")
    for step in range(MOST_CHANGES + 2):
        source.shows(snapshot([node("n1", labels={"step": str(step)})]))
        feed.observe(0)
    assert feed.changes_after(since) is None


def test_kept_changes_are_limited_in_bytes() -> None:
    source = HandDrivenSource(ObservedCluster(snapshot([node("n1")]), NOW, DEFAULT))
    feed = Feed(source, lambda: NOW, most_change_bytes=2000)
    feed.observe(0)
    for step in range(20):
        source.shows(snapshot([node("n1", labels={"step": str(step)})]))
        feed.observe(0)
    kept = feed.changes_after(18)
    assert feed.changes_after(2) is None
    assert kept is not None
    assert sum(len(each.document) for each in kept) <= 2000


def test_source_that_fails_leaves_the_last_state_and_says_why() -> None:
    feed, source = feed_of("n1")
    source.found = ObservedCluster(snapshot([node("n1")]), NOW, DEFAULT, "the API server cannot be reached")
    feed.observe(0)
    assert feed.condition.problem == "the API server cannot be reached"
    assert orjson.loads(feed.nodes() or b"")["nodes"]["name"] == ["n1"]


def test_listeners_are_woken_by_changes_only() -> None:
    feed, source = feed_of("n1")
    woken: list[str] = []
    with feed.listening(lambda: woken.append("changed")):
        feed.observe(0)
        assert woken == []
        source.shows(snapshot([node("n1")], [pod("p", "n1")]))
        feed.observe(0)
    source.shows(snapshot([node("n1")]))
    feed.observe(0)
    assert woken == ["changed"]


def test_defect_in_reading_is_told_to_pages() -> None:
    feed, source = feed_of("n1")
    source.found = RuntimeError("a defect")
    with feed.followed():
        while "RuntimeError" not in feed.condition.problem:
            feed._stop.wait(0.01)
    assert source.is_closed


def test_defect_in_one_row_is_told_until_it_is_mended_and_no_change_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source = feed_of("gone", "same", "changed")
    before = orjson.loads(feed.nodes() or b"")["nodes"]

    def defective(info: NodeInfo, counting: Counting) -> NodeRow:
        if info.name == "new":
            raise RuntimeError("a defect")
        return node_row(info, counting)

    monkeypatch.setattr(cluster_state, "node_row", defective)
    now = [node("same"), node("changed", labels={"a": "b"}), node("new")]
    source.shows(snapshot(now, [pod("p", "changed")]))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a defect"):
            feed.observe(0)
        assert orjson.loads(feed.nodes() or b"")["nodes"] == before
    monkeypatch.setattr(cluster_state, "node_row", node_row)
    feed.observe(0)
    [change] = [orjson.loads(each.document) for each in feed.changes_after(1) or ()]
    seen = applied(nodes_of(before), change["nodes"], nodes_of)
    assert {row["name"]: row["labels"].get("a") for row in seen.values()} == {"same": None, "changed": "b", "new": None}
    assert [row["name"] for row in pods_of(change["pods"]["changed"]).values()] == ["p"]
