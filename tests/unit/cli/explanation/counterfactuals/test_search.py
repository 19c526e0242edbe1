"""The search: smallest changes first, no change that contains a smaller one, and the reason why the search ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explanation.counterfactuals.change import Change, ChangeKind
from berth_cli.explanation.counterfactuals.search import MAX_NODES, Counterfactual, Search, SearchEnd, search
from berth_cli.explanation.report import changes_text, search_document
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explanation.cases import FULL, LABELLED, Object, changes, rules, target

GPU = "example.com/gpu"
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def found(pod: Object, *objects: Object, document: Mapping[str, Any] = FULL) -> Search:
    return search(target(pod, *objects, document=document).case, rules(document), lambda: False)


def test_shows_small_changes_before_large_ones() -> None:
    busy = pod_with("w", nodeName="b", requests={"cpu": "2"})
    shown = changes(pod_with(requests={"cpu": "3"}), node_with("a", taints=[TAINT]), node_with("b"), busy)
    assert (shown[0], shown[-1]) == ("let the pod tolerate dedicated=ml:NoSchedule", "add a node like b")


def test_does_not_propose_to_end_daemon_set_pods() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": True}
    daemon = pod_with("d", nodeName="a", requests={"cpu": "2"}, metadata={"ownerReferences": [owner]})
    results = changes(pod_with(requests={"cpu": "3"}), node_with("a"), daemon)
    # A new node would have the DaemonSet's pod, too.
    assert results == ["lower the pod's request of cpu from 3 to 2"]


def test_deletes_a_pod_only_if_its_replacement_fits() -> None:
    """Otherwise the replacement would be pending instead of the pod."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    owned = pod_with("w", nodeName="a", requests={"cpu": "3"}, metadata={"ownerReferences": [owner]})
    nodes = [node_with("a", allocatable={"cpu": "4"}), node_with("b", allocatable={"cpu": "3"})]
    waiting = pod_with(requests={"cpu": "4"})
    end = "free 3 cpu on node a: end default/w (holds 3 cpu)"
    assert end in changes(waiting, *nodes, owned)
    assert end not in changes(waiting, *nodes, owned, pod_with("x", nodeName="b", requests={"cpu": "1"}))
    assert end in changes(waiting, *nodes, pod_with("w", nodeName="a", requests={"cpu": "3"}))


@pytest.mark.parametrize(
    ("pod", "node"),
    [
        pytest.param({"nodeSelector": {"pool": "z"}}, {"taints": [TAINT]}, id="the pod selects other nodes"),
        pytest.param(
            {}, {"taints": [{"key": GPU, "effect": "NoSchedule"}], "allocatable": {GPU: "1"}}, id="nodes of a resource"
        ),
    ],
)
def test_does_not_propose_to_tolerate_taints_of_nodes_for_other_pods(pod: dict[str, Any], node: dict[str, Any]) -> None:
    assert "tolerate" not in str(changes(pod_with(**pod), node_with("a", **node)))


def test_tries_each_taint_even_if_many_nodes_have_another_taint() -> None:
    """All taints have the same reason. The nodes that are tried first are for pods that request GPUs."""
    taint = {"key": GPU, "effect": "NoSchedule"}
    gpus = [node_with(f"gpu-{each}", taints=[taint], allocatable={GPU: "1", "cpu": "4"}) for each in range(3)]
    spot = node_with("spot", taints=[{"key": "spot", "value": "true", "effect": "NoSchedule"}])
    holder = pod_with("w", nodeName="full", requests={"cpu": "3"}, priority=9)
    shown = changes(pod_with(requests={"cpu": "3"}), node_with("full"), *gpus, spot, holder)
    assert "let the pod tolerate spot=true:NoSchedule" in shown


def test_search_begins_with_nodes_that_have_the_counted_resource() -> None:
    counted = {"profile": "managed-resources", "managedResources": [{"name": GPU, "capacity": {"nodeLabel": "gpus"}}]}
    nodes = [*(node_with(f"a{number}") for number in range(5)), node_with("z", {"gpus": "2"})]
    holder = pod_with("w", nodeName="z", requests={GPU: "1"})
    shown = changes(pod_with(requests={GPU: "2"}), *nodes, holder, document=counted)
    assert f"lower the pod's request of {GPU} from 2 to 1" in shown


def test_does_not_end_a_pod_that_is_being_deleted() -> None:
    ending = pod_with("w", nodeName="a", requests={"cpu": "3"}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert "end default/w" not in str(changes(pod_with(requests={"cpu": "3"}), node_with("a"), ending))


def test_adds_a_node_and_tolerates_its_taint_if_the_nodes_of_this_kind_are_full() -> None:
    gpus = node_with("g", taints=[{"key": GPU, "effect": "NoSchedule"}], allocatable={GPU: "1"})
    holder = pod_with("w", nodeName="g", priority=9, requests={GPU: "1"})
    results = changes(pod_with(requests={GPU: "1"}), node_with("a"), gpus, holder)
    assert results == [f"let the pod tolerate {GPU}:NoSchedule; add a node like g"]


CORDONED: dict[str, Any] = {"unschedulable": True}
LEAVING: dict[str, Any] = {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}
NOT_READY: dict[str, Any] = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
BOOTING: dict[str, Any] = {"status": {"phase": "Pending"}}


@pytest.mark.parametrize(
    "state", [CORDONED, LEAVING, NOT_READY, BOOTING], ids=["cordoned", "leaving", "not ready", "not running"]
)
def test_unusable_node_is_never_the_template_of_a_proposed_node(state: dict[str, Any]) -> None:
    full = [pod_with(f"w{name}", nodeName=name, priority=9, requests={"cpu": "4"}) for name in "abc"]
    wanted, broken = pod_with(requests={"cpu": "3"}), node_with("a", **state)
    assert "add a node" not in str(changes(wanted, broken, full[0]))
    assert changes(wanted, broken, node_with("b"), node_with("c"), *full)[-1] == "add a node like b"


def test_names_the_node_pool_of_a_node_to_add() -> None:
    """Karpenter would create the node."""
    node = node_with("a", {"karpenter.sh/nodepool": "spot"})
    holder = pod_with("w", nodeName="a", requests={"cpu": "3"}, priority=9)
    results = changes(pod_with(requests={"cpu": "3"}), node, holder)
    assert results[-1] == "add a node like a, of NodePool spot"


def test_omits_a_change_that_contains_a_smaller_sufficient_change() -> None:
    results = changes(pod_with(), node_with("a", taints=[TAINT]), document=LABELLED)
    assert results == [f"let the pod tolerate dedicated=ml:NoSchedule; add the label {PRIORITY}=1 to node a"]
    both = changes(pod_with(), node_with("a", taints=[TAINT]), node_with("b"), document=LABELLED)
    assert both == [f"add the label {PRIORITY}=1 to node b"]


def test_search_stops_at_the_time_limit() -> None:
    assert search(target(pod_with(), node_with("a", taints=[TAINT])).case, rules(), lambda: True).found == []


FOUND = Counterfactual(
    (Change(ChangeKind.LABEL_NODE, "add the label a=b to node n", "a", lambda case: case, "n"),), ["n"]
)
SHOWN = ["Each of these would place it; the rules were run on each:", "  - add the label a=b to node n"]

NONE = "No small change was found that would place it."
OVER = "The search ended after 5 s; there may be other changes."
LEFT_OUT = "No changes were tried on 10 of the 50 rejected nodes."


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        pytest.param(Search(), [NONE], id="no change found"),
        pytest.param(Search(end=SearchEnd.TIME), [NONE, OVER], id="no change found in time"),
        pytest.param(
            Search(end=SearchEnd.NODES, tried=40, left_out=10), [NONE, LEFT_OUT], id="no change on the tried nodes"
        ),
        pytest.param(Search([FOUND]), SHOWN, id="changes found"),
        pytest.param(Search([FOUND], SearchEnd.TIME), [*SHOWN, OVER], id="changes found before the time limit"),
        pytest.param(
            Search([FOUND], SearchEnd.RESULTS, tried=40, left_out=10),
            [*SHOWN, "The search ended after 1 changes; there may be others.", LEFT_OUT],
            id="as many changes as are shown, and nodes left out",
        ),
    ],
)
def test_reports_why_the_search_ended(result: Search, lines: Sequence[str]) -> None:
    assert list(changes_text(result)) == lines
    found = search_document(result)
    assert found["searchEnd"] == result.end
    assert found["searchNote"] == "\n".join(lines[len(SHOWN) if result.found else 0 :])


@pytest.mark.parametrize(
    ("count", "end"),
    [
        pytest.param(MAX_NODES, SearchEnd.COMPLETE, id="all nodes, which are similar"),
        pytest.param(MAX_NODES + 1, SearchEnd.NODES, id="one more"),
    ],
)
def test_reports_whether_all_nodes_were_tried(count: int, end: SearchEnd) -> None:
    nodes = [node_with(f"n{number}") for number in range(count)]
    assert found(pod_with(requests={"cpu": "5"}), *nodes).end is end


POOL = {"pool": "edge"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        pytest.param({}, True, id="it fits on the other node"),
        pytest.param({"nodeSelector": POOL}, False, id="it selects this node"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]
                        }
                    }
                }
            },
            False,
            id="it requires nodes like this",
        ),
    ],
)
def test_ends_pod_only_if_its_replacement_selects_another_node(fields: dict[str, Any], ends: bool) -> None:
    owner = {"ownerReferences": [OWNER]}
    busy = pod_with("w", nodeName="edge", requests={"cpu": "4"}, metadata=owner, **fields)
    nodes = [node_with("edge", POOL), node_with("plain")]
    wanted = pod_with(requests={"cpu": "4"}, nodeSelector=POOL)
    texts = [change.text for each in found(wanted, *nodes, busy).found for change in each.changes]
    assert any("end default/w" in text for text in texts) is ends


def test_reports_that_more_changes_may_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth_cli.explanation.counterfactuals.search.MAX_RESULTS", 2)
    busy = pod_with("w", nodeName="a", requests={"cpu": "2"})
    result = found(pod_with(requests={"cpu": "3"}), node_with("a"), busy)
    assert (len(result.found), result.end) == (2, SearchEnd.RESULTS)
