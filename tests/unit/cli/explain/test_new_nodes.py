"""Whether a node that an autoscaler adds would take the pod: it asks no extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explain.counterfactuals.new_nodes import NewNodeOutcome, NewNodes, new_nodes
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explain.cases import FULL, LABELLED, Object, rules, target

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
FULL_NODE = [node_with("a"), pod_with("web", nodeName="a", requests={"cpu": "4"})]


def judged(
    pod: Object, *objects: Object, document: Mapping[str, Any] = FULL, templates: Sequence[Object] = ()
) -> NewNodes:
    case, applied = target(pod, *objects, document=document).case, rules(document)
    rejected = applied.rejected(case.pod, list(case.snapshot.nodes), case.snapshot)
    return new_nodes(case, applied, rejected, [dict(each) for each in templates])


def pool(name: str = "gpu", **template: Any) -> Object:
    return {"kind": "NodePool", "metadata": {"name": name}, "spec": {"template": template}}


@pytest.mark.parametrize(
    ("pod", "objects", "document", "outcome", "reason"),
    [
        pytest.param(
            pod_with("p", requests={"cpu": "2"}), FULL_NODE, FULL, NewNodeOutcome.TAKES, "", id="the node is full"
        ),
        pytest.param(
            pod_with("p", requests={"cpu": "9"}),
            FULL_NODE,
            FULL,
            NewNodeOutcome.TOO_SMALL,
            "Insufficient cpu",
            id="no node is large enough",
        ),
        pytest.param(
            pod_with("p"),
            [node_with("a", taints=[TAINT])],
            FULL,
            NewNodeOutcome.REJECTED_BY_SCHEDULER,
            "node(s) had untolerated taint(s)",
            id="a taint, of any size",
        ),
        pytest.param(
            pod_with("p"),
            [node_with("a")],
            LABELLED,
            NewNodeOutcome.REJECTED_BY_BERTH,
            f"node(s) didn't have the priority label {PRIORITY}",
            id="a label that new nodes lack, too",
        ),
    ],
)
def test_judges_a_new_node_like_those_that_are_there(
    pod: Object, objects: Sequence[Object], document: Mapping[str, Any], outcome: NewNodeOutcome, reason: str
) -> None:
    [found] = judged(pod, *objects, document=document).kinds
    assert (found.like, found.outcome, found.reason) == ("a", outcome, reason)


@pytest.mark.parametrize(
    ("objects", "fits"),
    [
        pytest.param([node_with("a"), node_with("b", taints=[TAINT])], ["a"], id="a node that only Berth rejects"),
        pytest.param([node_with("b", taints=[TAINT])], [], id="none"),
    ],
)
def test_names_the_nodes_for_which_an_autoscaler_adds_none(objects: Sequence[Object], fits: Sequence[str]) -> None:
    assert list(judged(pod_with("p"), *objects, document=LABELLED).fits_for_scheduler) == fits


@pytest.mark.parametrize(
    ("templates", "outcome"),
    [
        pytest.param([node_with("group", {PRIORITY: "1"})], NewNodeOutcome.TAKES, id="a node of a group"),
        pytest.param([node_with("group")], NewNodeOutcome.REJECTED_BY_BERTH, id="a node that Berth rejects"),
        pytest.param([pool(metadata={"labels": {PRIORITY: "1"}})], NewNodeOutcome.TAKES, id="a NodePool, of any size"),
        pytest.param(
            [pool(metadata={"labels": {PRIORITY: "1"}}, spec={"taints": [TAINT]})],
            NewNodeOutcome.REJECTED_BY_SCHEDULER,
            id="a NodePool with a taint",
        ),
        pytest.param(
            [pool(spec={"requirements": [{"key": PRIORITY, "operator": "In", "values": ["1", "2"]}]})],
            NewNodeOutcome.TAKES,
            id="a label by a requirement",
        ),
    ],
)
def test_judges_the_templates_of_an_autoscaler(templates: Sequence[Object], outcome: NewNodeOutcome) -> None:
    found = judged(pod_with("p", requests={"cpu": "3"}), node_with("a"), document=LABELLED, templates=templates)
    assert [each.outcome for each in found.kinds] == [NewNodeOutcome.REJECTED_BY_BERTH, outcome]


def test_a_pool_has_the_value_that_the_pod_selects() -> None:
    zones = {"key": "zone", "operator": "In", "values": ["a", "b"]}
    found = judged(
        pod_with("p", nodeSelector={"zone": "b"}), node_with("n"), templates=[pool(spec={"requirements": [zones]})]
    )
    assert [each.outcome for each in found.kinds] == [NewNodeOutcome.REJECTED_BY_SCHEDULER, NewNodeOutcome.TAKES]
    assert found.is_any_use
