"""The feed of a page: each state of the cluster once, and its age in every response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.floating_resources import MAX_LEVELS
from berth_cli.console import feed as feed_module
from berth_cli.console.access import Refusal
from berth_cli.console.cluster import NotRead, ObservedCluster
from berth_cli.console.feed import Feed, node_row
from tests.builders.counted import LICENCE, LICENCES, configuration, counted_node
from tests.unit.cli.console.cases import DEFAULT, NOW, HandDrivenSource, node, pod, snapshot


def feed_of(*names: str) -> tuple[Feed, HandDrivenSource]:
    source = HandDrivenSource(ObservedCluster(snapshot([node(name) for name in names]), NOW, DEFAULT))
    feed = Feed(source, lambda: NOW + 7)
    feed.observe(0)
    return feed, source


def asked(feed: Feed, since: int = 0) -> dict[str, Any]:
    answer = feed.cluster({"since": str(since)})
    assert isinstance(answer, bytes)
    content: dict[str, Any] = orjson.loads(answer)
    return content


def test_rejects_requests_until_the_cluster_was_read() -> None:
    feed = Feed(HandDrivenSource(NotRead("the cluster is being listed")), lambda: NOW)
    feed.observe(0)
    for answer in (feed.cluster({}), feed.pods({"node": "n1"})):
        assert isinstance(answer, Refusal)
        assert (answer.status, answer.reason) == (503, "the cluster is being listed")


def test_document_contains_the_state_and_its_age() -> None:
    feed, _ = feed_of("n1")
    assert asked(feed) | {"nodes": None} == {
        "version": 2,
        "sequence": 1,
        "ageSeconds": 7.0,
        "maxStalenessSeconds": 180.0,
        "problem": "",
        "source": "dump.json",
        "counted": [],
        "pools": [],
        "pods": 0,
        "pending": 0,
        "nodes": None,
    }


def test_page_with_the_current_state_gets_only_its_age() -> None:
    feed, source = feed_of("n1")
    assert "nodes" not in asked(feed, since=1)
    source.shows(snapshot([node("n1"), node("n2")]), observed_at=NOW + 5)
    feed.observe(0)
    found = asked(feed, since=1)
    assert (found["sequence"], found["ageSeconds"], [each["name"] for each in found["nodes"]]) == (2, 2.0, ["n1", "n2"])


def test_new_read_of_an_unchanged_state_renews_only_its_age() -> None:
    feed, source = feed_of("n1")
    assert isinstance(source.found, ObservedCluster)
    source.shows(source.found.snapshot, observed_at=NOW + 5)
    feed.observe(0)
    assert (asked(feed, since=1)["sequence"], asked(feed, since=1)["ageSeconds"]) == (1, 2.0)


def test_new_configuration_is_a_new_state_and_recounts_all_nodes() -> None:
    seen = snapshot([counted_node("n", licences="5")])
    source = HandDrivenSource(ObservedCluster(seen, NOW, DEFAULT))
    feed = Feed(source, lambda: NOW)
    feed.observe(0)
    assert LICENCE not in asked(feed)["nodes"][0]["amounts"]
    source.shows(seen, configured=ActiveConfiguration.of(configuration(LICENCES)))
    for _ in range(2):
        feed.observe(0)
    found = asked(feed, since=1)
    assert (found["sequence"], found["nodes"][0]["amounts"][LICENCE]) == (2, [5, 0])


def test_failing_source_keeps_the_last_state_and_reports_the_cause() -> None:
    feed, source = feed_of("n1")
    source.found = ObservedCluster(snapshot([node("n1")]), NOW, DEFAULT, "the API server cannot be reached")
    feed.observe(0)
    found = asked(feed)
    assert found["problem"] == "the API server cannot be reached"
    assert [each["name"] for each in found["nodes"]] == ["n1"]


def test_exception_during_a_read_is_reported_to_pages() -> None:
    feed, source = feed_of("n1")
    source.found = RuntimeError("a defect")
    with feed.followed():
        while "RuntimeError" not in asked(feed)["problem"]:
            feed._stop.wait(0.01)
    assert source.is_closed


def test_exception_in_one_row_does_not_lose_later_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feed, source = feed_of("n1")
    asked(feed)

    def defective(info: NodeInfo, counting: Counting) -> dict[str, object]:
        if info.name == "new":
            raise RuntimeError("a defect")
        return node_row(info, counting)

    with monkeypatch.context() as mended:
        mended.setattr(feed_module, "node_row", defective)
        source.shows(snapshot([node("n1"), node("new")]))
        feed.observe(0)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="a defect"):
                feed.cluster({})
    assert [each["name"] for each in asked(feed, since=1)["nodes"]] == ["n1", "new"]


SEAT = "example.com/seat"


def levels(
    nodes: list[NodeInfo], pods: list[Pod], capacity: Mapping[str, object], **more: object
) -> list[tuple[str, int, int, int]]:
    document = configuration({"name": SEAT, "capacity": capacity, **more})
    source = HandDrivenSource(ObservedCluster(snapshot(nodes, pods), NOW, ActiveConfiguration.of(document)))
    feed = Feed(source, lambda: NOW)
    feed.observe(0)
    return [(each["pool"], each["capacity"], each["held"], each["waiting"]) for each in asked(feed)["pools"]]


def asks(name: str, amount: int = 1, on: str = "", *, waits: bool = False, **fields: Any) -> Pod:
    return replace(pod(name, on, requests={SEAT: str(amount)}, **fields), waits_for_pool=waits)


@pytest.mark.parametrize(
    ("pods", "capacity", "more", "wanted"),
    [
        pytest.param([], {"value": 4, "scope": "cluster"}, {}, [(f"{SEAT}@cluster", 4, 0, 0)], id="an empty pool"),
        pytest.param(
            [asks("h", 2, "a"), asks("i", 1, "b"), asks("w", waits=True), asks("new"), pod("other")],
            {"value": 4, "scope": "cluster"},
            {},
            [(f"{SEAT}@cluster", 4, 3, 1)],
            id="a pool of the cluster: the pods on all nodes, and those that wait for it",
        ),
        pytest.param(
            [asks("h", 2, "b"), asks("w", waits=True)],
            {"value": 4, "scope": "zone", "values": {"y": 2}},
            {},
            [(f"{SEAT}@zone=y", 2, 2, 1), (f"{SEAT}@zone=x", 4, 0, 1)],
            id="pools of a label: the fullest first, and a pod may wait for each",
        ),
        pytest.param(
            [asks("h", 1, "a", namespace="ml"), asks("w", namespace="web", waits=True)],
            {"value": 4, "scope": "cluster"},
            {"perNamespace": 2},
            [(f"{SEAT}@namespace=ml", 2, 1, 0), (f"{SEAT}@cluster", 4, 1, 1), (f"{SEAT}@namespace=web", 2, 0, 1)],
            id="pools of namespaces: those with pods that hold or wait",
        ),
        pytest.param(
            [asks("h", 6, "a"), asks("i", 1, "b")],
            {"value": 0, "scope": "cluster"},
            {},
            [(f"{SEAT}@cluster", 0, 7, 0)],
            id="a closed pool with pods",
        ),
    ],
)
def test_document_has_the_levels_of_floating_pools(
    pods: list[Pod], capacity: Mapping[str, object], more: Mapping[str, object], wanted: object
) -> None:
    nodes = [node("a", labels={"zone": "x"}), node("b", labels={"zone": "y"}), node("c")]
    assert levels(nodes, pods, capacity, **more) == wanted


def test_document_has_only_the_fullest_of_many_pools() -> None:
    """A namespace limit makes a pool for each of thousands of namespaces."""
    pods = [asks(f"p{number}", 1 + (number == 70), "a", namespace=f"n{number}") for number in range(100)]
    found = levels([node("a")], pods, {"value": 200, "scope": "cluster"}, perNamespace=2)
    assert (len(found), found[0]) == (MAX_LEVELS, (f"{SEAT}@namespace=n70", 2, 2, 0))
