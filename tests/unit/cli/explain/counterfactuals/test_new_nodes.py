"""Whether a node that an autoscaler adds would take the pod: it asks no extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth_cli.explain.counterfactuals.new_nodes import NewNodeOutcome, NewNodes, new_nodes
from berth_cli.explain.counterfactuals.node_pools import MOST_NODES, nodes_of_pool
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.cli.explain.cases import FULL, LABELLED, Object, rules, target

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
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


ZONE, ARCH, OS = "topology.kubernetes.io/zone", "kubernetes.io/arch", "kubernetes.io/os"
TAKES, SCHEDULER = NewNodeOutcome.TAKES, NewNodeOutcome.REJECTED_BY_SCHEDULER
APP = {"matchLabels": {"app": "s"}}
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
AWAY = {"podAntiAffinity": {REQUIRED: [{"labelSelector": APP, "topologyKey": ZONE}]}}


def requires(key: str, operator: str, *values: str) -> Object:
    return {"key": key, "operator": operator, "values": list(values)} if values else {"key": key, "operator": operator}


def near(*terms: Object) -> dict[str, Any]:
    listed = [{"matchExpressions": [term]} for term in terms]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": listed}}}}


@pytest.mark.parametrize(
    ("pod", "requirements", "outcome"),
    [
        pytest.param({"nodeSelector": {"zone": "b"}}, [requires("zone", "In", "a", "b")], TAKES, id="nodeSelector"),
        pytest.param(
            {"nodeSelector": {"zone": "c"}}, [requires("zone", "In", "a", "b")], SCHEDULER, id="another value"
        ),
        pytest.param(near(requires("zone", "In", "b")), [requires("zone", "In", "a", "b")], TAKES, id="node affinity"),
        pytest.param(
            near(requires("zone", "In", "c"), requires("zone", "In", "b")),
            [requires("zone", "In", "a", "b")],
            TAKES,
            id="the second term",
        ),
        pytest.param(near(requires("gen", "Gt", "5")), [requires("gen", "In", "5", "6")], TAKES, id="Gt of the pod"),
        pytest.param(near(requires("gen", "Lt", "5")), [requires("gen", "Gt", "5")], SCHEDULER, id="Gt of the pool"),
        pytest.param(near(requires("gen", "In", "7")), [requires("gen", "Gt", "5")], TAKES, id="a value above Gt"),
        pytest.param({"nodeSelector": {OS: "linux"}}, [], TAKES, id="a well-known label that the pool leaves open"),
        pytest.param({"nodeSelector": {"team": "ml"}}, [], SCHEDULER, id="a label that the pool does not have"),
        pytest.param({"nodeSelector": {"team": "ml"}}, [requires("team", "Exists")], TAKES, id="Exists: any value"),
        pytest.param({"nodeSelector": {ARCH: "amd64"}}, [requires(ARCH, "NotIn", "arm64")], TAKES, id="NotIn"),
        pytest.param(
            {"nodeSelector": {ARCH: "arm64"}}, [requires(ARCH, "NotIn", "arm64")], SCHEDULER, id="a value in NotIn"
        ),
        pytest.param(
            near(requires("gpu", "DoesNotExist")),
            [requires("gpu", "DoesNotExist")],
            TAKES,
            id="a label that is not there",
        ),
        pytest.param(
            {"nodeSelector": {"karpenter.k8s.aws/instance-category": "g"}}, [], TAKES, id="a label of the provider"
        ),
        pytest.param(
            {"topologySpreadConstraints": [SPREAD], "labels": {"app": "s"}},
            [requires(ZONE, "In", "a", "b")],
            TAKES,
            id="the zone that a spread constraint leaves",
        ),
        pytest.param({"affinity": AWAY}, [requires(ZONE, "In", "a", "b")], TAKES, id="the zone that pods leave"),
        pytest.param({"affinity": AWAY}, [requires(ZONE, "In", "a")], SCHEDULER, id="no zone that pods leave"),
    ],
)
def test_a_pool_chooses_labels_for_the_pod(
    pod: Mapping[str, Any], requirements: Sequence[Object], outcome: NewNodeOutcome
) -> None:
    there = [node_with("n", {ZONE: "a", "closed": "yes"}, taints=[TAINT]), node_with("m", {ZONE: "b"}, taints=[TAINT])]
    others = [pod_with("other", {"app": "s"}, nodeName="n")]
    found = judged(pod_with("p", **pod), *there, *others, templates=[pool(spec={"requirements": requirements})])
    [last] = [each.outcome for each in found.kinds if each.like == "gpu"]
    assert last is outcome
    assert found.is_any_use is (outcome is TAKES)


def test_a_pool_is_tried_for_the_labels_that_berth_reads() -> None:
    values = requires(PRIORITY, "In", "high", "2")
    found = judged(pod_with("p"), node_with("n"), document=LABELLED, templates=[pool(spec={"requirements": [values]})])
    assert [each.outcome for each in found.kinds] == [NewNodeOutcome.REJECTED_BY_BERTH, TAKES]


def test_few_nodes_of_a_pool_are_tried() -> None:
    keys = [requires(f"key-{number}", "In", "a", "b", "c") for number in range(9)]
    case = target(pod_with("p"), node_with("n")).case
    found = list(nodes_of_pool({**pool(spec={"requirements": keys})}, case.pod, case.snapshot))
    assert len(found) == MOST_NODES
