"""Changes, as the command line writes them."""

from __future__ import annotations

import pytest

from berth_cli.simulate.what_if.changes import AddNodes, Changes, InvalidChange, Scale, read_changes


def test_pairs_counts_and_nodes_in_their_order() -> None:
    found = read_changes([3, 1], ["a", "b"], [], [], [])
    assert found.add_nodes == (AddNodes(3, "a"), AddNodes(1, "b"))


@pytest.mark.parametrize(("counts", "nodes"), [([3], []), ([], ["a"]), ([1, 2], ["a"])])
def test_rejects_a_count_without_a_node_and_a_node_without_a_count(counts: list[int], nodes: list[str]) -> None:
    with pytest.raises(InvalidChange, match="belong together"):
        read_changes(counts, nodes, [], [], [])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("deployment/web=50", Scale("", "Deployment", "web", 50), id="kind and name"),
        pytest.param("shop/deploy/web=0", Scale("shop", "Deployment", "web", 0), id="namespace and short kind"),
        pytest.param("sts/db=3", Scale("", "StatefulSet", "db", 3), id="StatefulSet"),
        pytest.param("rs/web-5d=3", Scale("", "ReplicaSet", "web-5d", 3), id="ReplicaSet"),
        pytest.param("rc/old=3", Scale("", "ReplicationController", "old", 3), id="ReplicationController"),
    ],
)
def test_reads_a_scale(text: str, wanted: Scale) -> None:
    assert read_changes([], [], [text], [], []).scale == (wanted,)


@pytest.mark.parametrize(
    "text", ["web=3", "deployment/web", "deployment/web=", "deployment/web=-1", "daemonset/x=3", "a/b/deployment/web=3"]
)
def test_rejects_what_is_no_scale(text: str) -> None:
    with pytest.raises(InvalidChange, match="such as deployment/web=50"):
        read_changes([], [], [text], [], [])


def test_no_options_are_no_change() -> None:
    assert not read_changes([], [], [], [], [])
    assert read_changes([], [], [], ["a"], []) == Changes(cordon=("a",))
