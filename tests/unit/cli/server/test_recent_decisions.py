"""The last decisions in memory: bounded by the numbers of records, nodes and node lists."""

from __future__ import annotations

from itertools import count

import pytest

from berth_cli.server.recent_decisions import MAX_NODE_LISTS, RecentDecisions
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode, victims_by_uid
from tests.fakes.verbs import Verbs

NAMES = [f"n{number}" for number in range(10)]


def recording(most_records: int = 1000, most_nodes: int = 1_000_000) -> tuple[RecentDecisions, Verbs]:
    recent = RecentDecisions(map(float, count()).__next__, most_records, most_nodes)
    return recent, Verbs([labelled(name, "1") for name in NAMES], recorder=recent)


def ask(verbs: Verbs, pod: str, names: list[str] = NAMES) -> None:
    verbs.ask("filter", cache_mode(names, pod_object(pod)))


def test_preempt_calls_have_a_separate_limit_and_do_not_displace_decisions() -> None:
    recent, verbs = recording(most_records=3)
    ask(verbs, "a")
    for number in range(5):
        verbs.ask("preempt", victims_by_uid({f"n{number}": ["v"]}))
    assert [each.pod.name for each in recent.all()] == ["a"]
    assert [each.at for each in recent.calls()] == [3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("most_records", "most_nodes"),
    [pytest.param(3, 1_000_000, id="by records"), pytest.param(1000, 35, id="by nodes in all records")],
)
def test_drops_the_oldest_record(most_records: int, most_nodes: int) -> None:
    recent, verbs = recording(most_records, most_nodes)
    for number in range(5):
        ask(verbs, f"p{number}")
    assert [(each.at, each.pod.name) for each in recent.all()] == [(2.0, "p2"), (3.0, "p3"), (4.0, "p4")]


def test_records_of_the_same_nodes_share_their_positions_object() -> None:
    recent, verbs = recording()
    ask(verbs, "a")
    ask(verbs, "b", list(NAMES))
    first, second = recent.all()
    assert first.positions is second.positions


def test_keeps_only_a_few_node_lists_in_full_mode() -> None:
    recent, verbs = recording()
    items = [{"metadata": {"name": "a", "labels": {}}}]
    for _ in range(MAX_NODE_LISTS + 5):
        verbs.ask("filter", {"Pod": pod_object(), "Nodes": {"items": items}, "NodeNames": None})
    assert len(recent.all()) == MAX_NODE_LISTS
