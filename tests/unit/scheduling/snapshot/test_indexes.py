"""Indexes of the pods that name a gang, and their updates from one snapshot to the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.scheduling.snapshot.changes import AssumedPod, Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.gangs import member
from tests.builders.nodes import node
from tests.builders.pods import pod

WAITING, BOUND = member("train-0"), replace(member("train-1"), node_name="n1")
OTHER, PLAIN = member("tune-0", "tune"), pod("web", uid="uid-web")
LOST = replace(member("train-9"), node_name="gone")
SNAPSHOT = Snapshot.of([node("n1"), node("n2")], [WAITING, BOUND, OTHER, PLAIN, LOST])


def found(snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the names of the pods by gang, each with its node if it has one."""
    return {
        name: sorted(f"{pod.name}@{pod.node_name}" if pod.node_name else pod.name for pod in pods.values())
        for (_, name), pods in snapshot.pods_by_gang.items()
    }


BEFORE = {"train": ["train-0", "train-1@n1", "train-9@gone"], "tune": ["tune-0"]}


def test_indexes_contain_pods_with_and_without_node() -> None:
    assert found(SNAPSHOT) == BEFORE


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        pytest.param(Changes(pods=(replace(PLAIN, node_name="n2"),)), BEFORE, id="another pod is bound"),
        pytest.param(
            Changes(pods=(replace(WAITING, node_name="n2"),), pods_gone=(("", WAITING.uid),)),
            BEFORE | {"train": ["train-0@n2", "train-1@n1", "train-9@gone"]},
            id="a member is bound",
        ),
        pytest.param(
            Changes(pods_gone=(("n1", BOUND.uid),)),
            BEFORE | {"train": ["train-0", "train-9@gone"]},
            id="a member is deleted",
        ),
        pytest.param(Changes(pods_gone=(("", OTHER.uid),)), {"train": BEFORE["train"]}, id="last member is deleted"),
        pytest.param(Changes(pods=(member("tune-1", "tune"),)), BEFORE | {"tune": ["tune-0", "tune-1"]}, id="created"),
        pytest.param(
            Changes(pods=(replace(pod("tune-0", uid=OTHER.uid)),)),
            {"train": BEFORE["train"]},
            id="a member loses its annotations",
        ),
        pytest.param(Changes(nodes_gone=("n1",)), BEFORE, id="a node is removed"),
    ],
)
def test_updated_indexes_equal_new_indexes(changes: Changes, wanted: dict[str, list[str]]) -> None:
    fresh = SNAPSHOT.with_changes(changes)
    assert found(SNAPSHOT)  # creates the index, which is updated from here on
    followed = SNAPSHOT.with_changes(changes)
    assert found(followed) == found(fresh) == wanted


def test_snapshots_share_an_index_while_its_pods_do_not_change() -> None:
    before = SNAPSHOT.pods_by_gang
    assert SNAPSHOT.with_changes(Changes(nodes=(node("n3"),))).pods_by_gang is before


def test_indexes_in_full_mode_include_pods_on_nodes_outside_the_request() -> None:
    assert found(SNAPSHOT.with_nodes([node("n2")])) == BEFORE


def test_indexes_do_not_move_assumed_pods() -> None:
    assumed = SNAPSHOT.assuming([AssumedPod("ml", WAITING.name, WAITING.uid, "n2", {})])
    assert found(assumed) == BEFORE
