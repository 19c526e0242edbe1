"""A state plus its changes is the next state, whatever happened in between."""

from __future__ import annotations

import random
from dataclasses import replace

import orjson

from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.console.documents.cluster_state import ClusterState
from tests.builders.counted import LICENCE, LICENCES, counted_node, counting
from tests.unit.cli.console.cases import NO_COUNTING, node, pod, snapshot
from tests.unit.cli.console.page_reading import Rows, applied, nodes_of, pods_of


def by_name(rows: Rows) -> dict[str, object]:
    return {row["name"]: row for row in rows.values()}


def test_changes_lead_to_what_a_new_state_shows() -> None:
    """Random steps: nodes and pods come, go, change and move. Ids differ between states, so nodes go by their names."""
    chance = random.Random(20)
    nodes: dict[str, NodeInfo] = {f"n{number}": node(f"n{number}") for number in range(4)}
    pods: dict[str, Pod] = {}
    state, seen_nodes, seen_pods = ClusterState(), Rows(), Rows()
    for step in range(200):
        name = f"n{chance.randrange(6)}"
        if chance.random() < 0.3 and nodes.pop(name, None) is None:
            nodes[name] = node(name, labels={"step": str(step)}, unschedulable=chance.random() < 0.5)
        for _ in range(chance.randrange(4)):
            key = f"p{chance.randrange(12)}"
            if chance.random() < 0.3:
                pods.pop(key, None)
            else:
                pods[key] = pod(key, chance.choice(["", "n0", "n1", "n4"]), requests={"cpu": f"{chance.randrange(9)}"})
        now = snapshot(nodes.values(), pods.values())
        state, changes = state.after(now, NO_COUNTING)
        document = orjson.loads(orjson.dumps(changes.document()))
        seen_nodes = applied(seen_nodes, document["nodes"], nodes_of)
        seen_pods = applied(seen_pods, document["pods"], pods_of)
        fresh, _ = ClusterState().after(now, NO_COUNTING)
        assert by_name(seen_nodes) == by_name(nodes_of(fresh.nodes()))
        assert seen_nodes == nodes_of(state.nodes())
        assert seen_pods == pods_of(state.pods())
        assert _named(seen_pods, seen_nodes) == _named(pods_of(fresh.pods()), nodes_of(fresh.nodes()))


def _named(pods: Rows, nodes: Rows) -> dict[str, object]:
    return {
        row["name"]: row | {"node": nodes[row["node"]]["name"] if row["node"] >= 0 else ""} for row in pods.values()
    }


def test_pod_keeps_its_id_when_it_gets_a_node() -> None:
    state, before = ClusterState().after(snapshot([node("n")], [pod("p")]), NO_COUNTING)
    _, after = state.after(snapshot([node("n")], [pod("p", "n")]), NO_COUNTING)
    [(waiting, _)], [(placed, row)] = before.pods, after.pods
    assert (placed, row.node) == (waiting, 0)


def test_same_snapshot_changes_nothing() -> None:
    seen = snapshot([node("n")], [pod("p", "n")])
    state, first = ClusterState().after(seen, NO_COUNTING)
    _, second = state.after(seen, NO_COUNTING)
    assert (first.are_empty, second.are_empty) == (False, True)


def test_equal_nodes_of_another_list_change_nothing() -> None:
    state, _ = ClusterState().after(snapshot([node("n")], [pod("p", "n")]), NO_COUNTING)
    assert state.after(snapshot([node("n")], [pod("p", "n")]), NO_COUNTING)[1].are_empty


def test_only_the_node_that_changed_is_told_again() -> None:
    seen = snapshot([node("n1"), node("n2")], [pod("a", "n1"), pod("b", "n2")])
    state, _ = ClusterState().after(seen, NO_COUNTING)
    changed = replace(pod("c", "n2"), node_name="n2")
    _, found = state.after(seen.with_changes(Changes(pods=(changed,))), NO_COUNTING)
    assert [row.name for _, row in found.nodes] == ["n2"]
    assert [row.name for _, row in found.pods] == ["c"]


def test_another_configuration_counts_all_nodes_again() -> None:
    seen = snapshot([counted_node("n", licences="5")])
    state, _ = ClusterState().after(seen, NO_COUNTING)
    [(_, row)] = state.after(seen, counting(LICENCES))[1].nodes
    assert row.allocatable[LICENCE] == 5


def test_state_stays_as_it_was_when_the_next_one_is_made() -> None:
    state, _ = ClusterState().after(snapshot([node("n1")], [pod("p", "n1")]), NO_COUNTING)
    before = state.nodes(), state.pods()
    state.after(snapshot([node("n1", labels={"a": "b"}), node("n2")], [pod("p", "n2")]), NO_COUNTING)
    assert (state.nodes(), state.pods()) == before
