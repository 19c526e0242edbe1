"""NodeAffinity: nodeSelector, required and preferred terms, and the affinity that the configuration adds."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod, read_node, read_pod
from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.plugins.arguments import NoArgs
from berth.scheduling.plugins.node_affinity import NodeAffinity, NodeAffinityArgs, NodeName
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.parity import scheduling_cycle as cycle
from tests.unit.scheduling.plugins.asking import scores, verdict, verdicts


def rejected(reason: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), "NodeAffinity")


NO_MATCH = rejected("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = rejected("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = rejected("pod affinity terms conflict")
OUTSIDE = rejected("node(s) didn't satisfy plugin(s) [NodeAffinity]")

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Term = dict[str, Any]

plugin = NodeAffinity(NodeAffinityArgs())


def node(name: str = "n") -> dict[str, object]:
    return node_with(name, {"disk": "ssd", "generation": "007", "empty": ""})


def expression(key: str, operator: str, *values: str) -> Term:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def names(operator: str, *values: str, key: str = "metadata.name") -> Term:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def requiring(*terms: Term) -> dict[str, Any]:
    return pod_with(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}})


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        pytest.param({"disk": "ssd"}, SUCCESS, id="the value"),
        pytest.param({"disk": "hdd"}, NO_MATCH, id="another value"),
        pytest.param({"absent": ""}, NO_MATCH, id="an absent label differs from an empty value"),
        pytest.param({"empty": ""}, SUCCESS, id="the empty value"),
        pytest.param({"disk": "ssd", "absent": "x"}, NO_MATCH, id="all must match"),
        pytest.param({}, SUCCESS, id="an empty selector"),
    ],
)
def test_node_passes_only_if_it_matches_the_node_selector(selector: dict[str, str], wanted: Status) -> None:
    assert verdict(plugin, pod_with(nodeSelector=selector), node()) == wanted


MATCHING, OTHER = expression("disk", "In", "ssd"), expression("disk", "In", "hdd")


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(expression("disk", "Near", "ssd"), id="an unknown operator"),
        pytest.param(expression("disk", "In"), id="In without values"),
        pytest.param(expression("disk", "Exists", "ssd"), id="Exists with values"),
        pytest.param(expression("generation", "Gt", "1", "2"), id="Gt with two values"),
        pytest.param(expression("generation", "Gt", "-5"), id="Gt with an invalid label value"),
        pytest.param(expression("generation", "Gt", "1e0"), id="Gt with a non-integer"),
        pytest.param(expression("generation", "Lt", "9223372036854775808"), id="Lt with more than 64 bits"),
        pytest.param(expression("a key", "DoesNotExist"), id="an invalid key"),
        pytest.param(names("In", "n", "m"), id="two names"),
        pytest.param(names("Exists"), id="a name that exists"),
    ],
)
def test_malformed_term_does_not_match_but_other_terms_do(term: Term) -> None:
    assert verdict(plugin, requiring(term), node()) == NO_MATCH
    assert verdict(plugin, requiring(term, MATCHING), node()) == SUCCESS


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        pytest.param([names("In", "a")], {"a": SUCCESS, "b": OUTSIDE}, id="one name"),
        pytest.param([names("In", "a"), names("In", "b")], {"a": SUCCESS, "b": SUCCESS}, id="alternatives"),
        pytest.param([names("In", "a"), OTHER], {"a": SUCCESS, "b": NO_MATCH}, id="a term without a name"),
        pytest.param([names("In", "a"), {}], {"a": SUCCESS, "b": NO_MATCH}, id="an empty term does not name a node"),
        pytest.param([names("In", "a") | OTHER], {"a": NO_MATCH, "b": OUTSIDE}, id="a label in addition"),
        pytest.param([names("In", "gone")], {"a": OUTSIDE, "b": OUTSIDE}, id="an unknown node"),
        pytest.param(
            [{"matchFields": names("In", "a")["matchFields"] + names("In", "b")["matchFields"]}],
            {"a": CONFLICT, "b": CONFLICT},
            id="two names at once",
        ),
    ],
)
def test_evaluates_only_nodes_named_by_the_affinity(terms: list[Term], wanted: dict[str, Status]) -> None:
    assert verdicts(plugin, requiring(*terms), node("a"), node("b")) == wanted


def test_also_evaluates_the_nominated_node() -> None:
    nominated = requiring(names("In", "a")) | {"status": {"nominatedNodeName": "b"}}
    assert verdicts(plugin, nominated, node("a"), node("b"), node("c")) == {"a": SUCCESS, "b": NO_MATCH, "c": OUTSIDE}


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        pytest.param(pod_with(), NOT_ENFORCED, id="applies to pods without an affinity"),
        pytest.param(pod_with(nodeSelector={"absent": "x"}), NOT_ENFORCED, id="evaluated before the pod's affinity"),
    ],
)
def test_node_must_also_match_the_affinity_in_the_arguments(pod: dict[str, object], wanted: Status) -> None:
    enforced = NodeAffinityArgs.model_validate({"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [OTHER]}}})
    assert verdict(NodeAffinity(enforced), pod, node()) == wanted


def test_rejects_malformed_added_affinity() -> None:
    terms = {"nodeSelectorTerms": [expression("disk", "Near", "ssd")]}
    with pytest.raises(ValidationError, match="addedAffinity has a term that cannot be parsed"):
        NodeAffinityArgs.model_validate({"addedAffinity": {REQUIRED: terms}})


@pytest.mark.parametrize(
    ("added", "message"),
    [
        pytest.param({PREFERRED: [{"weight": 4}]}, "a term needs weight and preference", id="no preferred terms"),
        pytest.param({PREFERRED: [{"preference": OTHER}]}, "a term needs weight and preference", id="no weight"),
        pytest.param({PREFERRED: [{"weight": 4, "preferences": OTHER}]}, "has no field preferences", id="a wrong key"),
        pytest.param({REQUIRED: {"terms": [OTHER]}}, "has no field terms; it has nodeSelectorTerms", id="no terms"),
        pytest.param(
            {REQUIRED: {"nodeSelectorTerms": [{"matchExpression": []}]}},
            "nodeSelectorTerms has no field",
            id="nested field",
        ),
        pytest.param({"required": {}}, "addedAffinity has no field required", id="a short name"),
    ],
)
def test_rejects_added_affinity_that_kube_scheduler_cannot_read(added: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NodeAffinityArgs.model_validate({"addedAffinity": added})


def preferring(*terms: tuple[int, Term]) -> dict[str, Any]:
    found = [{"weight": weight, "preference": term} for weight, term in terms]
    return pod_with(affinity={"nodeAffinity": {PREFERRED: found}})


A, B = expression("kubernetes.io/hostname", "In", "a"), expression("kubernetes.io/hostname", "In", "b")
BOTH = expression("disk", "In", "ssd")


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        pytest.param([(10, A)], {"a": 100, "b": 0}, id="the highest sum becomes 100"),
        pytest.param([(10, A), (3, B)], {"a": 100, "b": 30}, id="other scores are proportional"),
        pytest.param([(10, A), (20, BOTH)], {"a": 100, "b": 66}, id="weights add up, quotients are rounded down"),
        pytest.param([(10, {})], {"a": 0, "b": 0}, id="an empty term matches nothing"),
        pytest.param([(0, expression("k", "Near")), (1, A)], {"a": 100, "b": 0}, id="weight 0 is not even parsed"),
        pytest.param([], {"a": 0, "b": 0}, id="no preferred terms"),
    ],
)
def test_preferred_terms_of_the_pod_determine_the_score(terms: list[tuple[int, Term]], wanted: dict[str, int]) -> None:
    assert scores(plugin, preferring(*terms), node("a"), node("b")) == wanted


def test_added_preferences_apply_to_every_pod() -> None:
    args = NodeAffinityArgs.model_validate({"addedAffinity": {PREFERRED: [{"weight": 4, "preference": A}]}})
    assert scores(NodeAffinity(args), preferring((1, B)), node("a"), node("b")) == {"a": 100, "b": 25}
    assert scores(NodeAffinity(args), pod_with(), node("a"), node("b")) == {"a": 100, "b": 0}


def test_malformed_preferred_term_fails_the_scheduling_cycle() -> None:
    pod, candidates = read_pod(preferring((1, expression("k", "Lt", "-5")))), [read_node(node(name)) for name in "ab"]
    assert isinstance(pod, Pod)
    nodes = [candidate for candidate in candidates if isinstance(candidate, NodeInfo)]
    done = cycle.run(Profile("alone", (), ((plugin, 1),)), pod, Snapshot.of(nodes))
    assert done.error == (
        'running PreScore plugin "NodeAffinity": pod has a preferred node affinity term that cannot be parsed'
    )


OTHER_NAME = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match the requested node name",), "NodeName")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        pytest.param(None, SUCCESS, id="no node name"),
        pytest.param("", SUCCESS, id="an empty node name"),
        pytest.param("n", SUCCESS, id="this node"),
        pytest.param("m", OTHER_NAME, id="another node"),
        pytest.param("N", OTHER_NAME, id="case matters"),
    ],
)
def test_pod_with_a_node_name_passes_only_that_node(name: str | None, wanted: Status) -> None:
    assert verdict(NodeName(NoArgs()), pod_with(nodeName=name), node_with("n")) == wanted
