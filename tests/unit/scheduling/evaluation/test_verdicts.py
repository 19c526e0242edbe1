"""Verdicts are stored as one byte per node, for any number of statuses."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE, Verdicts
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, Status, unresolvable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod


class Says(FilterPlugin):
    """Passes nodes without labels, and rejects other nodes for their label's value, with a new Status each time."""

    name = "Says"

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        return unresolvable(self.name, *node.labels.values()) if node.labels else SUCCESS

    def shape(self, pod: Pod) -> Hashable:
        return ()


PROFILE = Profile("test", (Says(),), ())


def verdicts_on(snapshot: Snapshot, evaluations: EvaluationCache | None = None) -> Verdicts:
    return (evaluations or EvaluationCache()).of(PROFILE, pod(), snapshot).statuses


@pytest.mark.parametrize("count", [pytest.param(10, id="few"), pytest.param(600, id="more than fit into a byte")])
def test_supports_more_distinct_statuses_than_codes(count: int) -> None:
    evaluations = EvaluationCache()
    names = [f"n{index}" for index in range(count)]
    snapshot = Snapshot.of([node("passes"), *(labelled(name, name) for name in names)])
    found = verdicts_on(snapshot, evaluations).filter_nodes(NodeRefs.of(["new", *names, "passes"], snapshot.positions))
    expected = {"new": NOT_IN_CACHE, **{name: unresolvable("Says", name) for name in names}}
    assert found.rejected == expected
    assert found.rejected.messages == {name: status.message for name, status in expected.items()}
    assert (found.feasible_names, found.feasible.names) == (["passes"], ["passes"])

    later = snapshot.with_changes(Changes(nodes=[labelled(names[-1], "other"), node(names[0])]))
    verdicts = verdicts_on(later, evaluations)
    assert [verdicts[name] for name in (names[-1], names[0])] == [unresolvable("Says", "other"), SUCCESS]
    assert [verdicts[name] for name in names[1:-1]] == [unresolvable("Says", name) for name in names[1:-1]]


def test_equal_statuses_share_one_object() -> None:
    snapshot = Snapshot.of([labelled("a", "1"), labelled("b", "1")])
    verdicts = verdicts_on(snapshot)
    assert verdicts["a"] is verdicts["b"]


def test_returns_the_list_of_the_request_if_all_nodes_pass() -> None:
    snapshot = Snapshot.of([node("a"), node("b")])
    located = NodeRefs.of(["b", "a"], snapshot.positions)
    found = verdicts_on(snapshot).filter_nodes(located)
    assert found.feasible_names is located.names
    assert (found.feasible, dict(found.rejected)) == (located, {})


def test_status_changes_can_reject_and_accept_nodes() -> None:
    snapshot = Snapshot.of([node("a"), labelled("b", "1"), node("c")])
    result = verdicts_on(snapshot).filter_nodes(NodeRefs.of(["a", "b", "c"], snapshot.positions))
    no = unresolvable("Other", "no")
    amended = result.with_statuses({"a": no, "b": SUCCESS})
    assert (amended.feasible_names, amended.feasible.names, dict(amended.rejected)) == (
        ["b", "c"],
        ["b", "c"],
        {"a": no},
    )
    assert tuple(amended.feasible.positions) == (2, 3)


def test_evaluates_a_node_that_reuses_a_vacant_position() -> None:
    evaluations = EvaluationCache()
    before = Snapshot.of([node("stays"), labelled("goes", "1")])
    assert verdicts_on(before, evaluations)["goes"] == unresolvable("Says", "1")
    after = before.with_changes(Changes(nodes_gone=["goes"], nodes=[node("comes")]))
    verdicts = verdicts_on(after, evaluations)
    assert after.positions["comes"] == before.positions["goes"]
    assert [verdicts[name] for name in ("stays", "comes", "goes")] == [SUCCESS, SUCCESS, NOT_IN_CACHE]
