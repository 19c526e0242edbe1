"""Why a pod that fits is pending: its attempts, its bind, Berth's failure, its condition; and the order of reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from berth.scheduling.reason_code import ReasonCode
from berth_cli.explanation.explanation import Explanation, explain_pod
from berth_cli.explanation.pod_state import Cause, Verdict, pending_cause
from berth_cli.explanation.report import document, headline, text
from berth_cli.explanation.target import Target
from berth_cli.sources.attempts import Attempt, Attempts, NoRecord
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with, preempted
from tests.unit.cli.explanation.cases import Object, recorded, rules, target

GPU = "example.com/gpu"


def _required(*expressions: Mapping[str, object]) -> dict[str, object]:
    term = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}


STALE = "the node cache is of 10:00, older than maxStaleness (180 s); does the watcher run?"
REFUSED_CALL = 'Post "http://127.0.0.1:8080/scheduler/filter": dial tcp 127.0.0.1:8080: connect: connection refused'
UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
CREATED = {"creationTimestamp": "1970-01-01T00:10:00Z"}
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/a", "example.com/b"]}
LEAVES = "is being deleted and waits for finalizer example.com/a, example.com/b"
NOW = 600.0 + 240


def said(reason: str, message: str) -> dict[str, Any]:
    return {"status": {"conditions": [_condition(reason, message)]}}


def _condition(reason: str, message: str) -> Mapping[str, str]:
    return {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}


def attempt(
    feasible: int | None = 1, error: str = "", outcome: str = "feasible", reasons: Sequence[str] = ()
) -> Attempt:
    counts = [{"code": code, "reason": f"reason {code}", "plugin": "", "count": 1, "nodes": ()} for code in reasons]
    return recorded(NOW - 60, nodes=1, feasible=feasible, error=error, outcome=outcome, reasons=counts)


def attempts(last: Attempt, bind: Attempt | None = None) -> Attempts:
    return Attempts([last], bind)


FAILED = attempts(attempt(None, STALE, "failure-cache-unavailable"))
BERTH, BIND, SCHEDULER = Verdict.BERTH_FAILS, Verdict.BIND_FAILS, Verdict.SCHEDULER_FAILS


@pytest.mark.parametrize(
    ("pod", "records", "failure", "wanted"),
    [
        pytest.param(
            {}, FAILED, "", (BERTH, f"Berth cannot decide (failure-cache-unavailable) 1 min ago: {STALE}"), id="a call"
        ),
        pytest.param(
            {},
            attempts(attempt(0, outcome="too-costly", reasons=["TooCostly"])),
            "",
            (BERTH, "Berth cannot decide (too-costly) 1 min ago: reason TooCostly"),
            id="a call that took too long",
        ),
        pytest.param(
            {},
            attempts(attempt(0, outcome="none-feasible", reasons=["NodeNotInCache"])),
            "",
            (BERTH, "Berth cannot decide (none-feasible) 1 min ago: reason NodeNotInCache"),
            id="a cache without any of the nodes",
        ),
        pytest.param(
            {},
            attempts(attempt(), recorded(NOW - 30, verb="bind", outcome="refused", chosen="n1", error="not allowed")),
            "",
            (BIND, "its bind to n1 failed 30 s ago: not allowed"),
            id="a bind",
        ),
        pytest.param({}, FAILED, "Berth does not answer: x", (BERTH, "Berth does not answer: x"), id="now"),
        pytest.param(
            said("SchedulerError", REFUSED_CALL),
            NoRecord("none"),
            "",
            (SCHEDULER, f"the scheduler says: {REFUSED_CALL}"),
            id="a scheduler failure without records",
        ),
        pytest.param(
            {**CLAIM, **said("Unschedulable", UNBOUND)},
            None,
            "",
            (SCHEDULER, f"the scheduler says: {UNBOUND}"),
            id="a claim that the simulated rules ignore",
        ),
    ],
)
def test_failed_call_is_the_cause_of_pending_even_if_the_pod_fits(
    pod: dict[str, Any], records: Attempts | NoRecord | None, failure: str, wanted: tuple[Verdict, str]
) -> None:
    assert explained(pod, records, failure, node_with("n1")) == (
        wanted[0],
        f"default/p: pending for 4 min: {wanted[1]}; 1 of 1 nodes fit",
    )


@pytest.mark.parametrize(
    ("pod", "records", "wanted"),
    [
        pytest.param({}, attempts(attempt()), "can be placed, on n1: 1 of 1 nodes fit", id="a successful call"),
        pytest.param(
            {},
            attempts(attempt(0, outcome="none-feasible", reasons=["PriorityLabelMissing"])),
            "can be placed, on n1: 1 of 1 nodes fit",
            id="a node that fits now",
        ),
        pytest.param(
            said("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."),
            None,
            "can be placed, on n1: 1 of 1 nodes fit",
            id="a known rule that passes now",
        ),
        pytest.param(
            CLAIM,
            None,
            "fits, apart from what is not checked, on n1: 1 of 1 nodes fit",
            id="a claim without a scheduler error",
        ),
        pytest.param({"nodeName": "n1"}, FAILED, "on node n1; without it, 1 of 1 nodes fit", id="a pod on its node"),
        pytest.param(
            {"requests": {"cpu": "9"}},
            FAILED,
            "pending for 4 min: 0 of 1 nodes fit: larger than the largest node (cpu 9 of at most 4)",
            id="a pod without a node",
        ),
        pytest.param(
            {"metadata": {**CREATED, "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            FAILED,
            "is being deleted, so no scheduler places it; 1 of 1 nodes fit",
            id="a pod that is being deleted",
        ),
        pytest.param(
            {"metadata": {**CREATED, **DELETED}},
            None,
            f"{LEAVES}, so no scheduler places it; 1 of 1 nodes fit",
            id="a pod that waits for finalizers",
        ),
        pytest.param(
            {"metadata": {**CREATED, **DELETED}, "nodeName": "n1"},
            None,
            f"on node n1, {LEAVES}; without it, 1 of 1 nodes fit",
            id="a pod on its node that waits for finalizers",
        ),
        pytest.param(
            {"metadata": {**CREATED, **DELETED}, "status": {"phase": "Succeeded"}},
            None,
            f"has ended, {LEAVES}; if it were new, 1 of 1 nodes fit",
            id="a finished pod that waits for finalizers",
        ),
        pytest.param(
            {"schedulerName": "other"},
            None,
            "can be placed by other, if that scheduler runs, on n1: 1 of 1 nodes fit",
            id="a pod of another scheduler",
        ),
    ],
)
def test_call_or_condition_that_is_not_the_cause_does_not_change_the_verdict(
    pod: dict[str, Any], records: Attempts | None, wanted: str
) -> None:
    assert explained(pod, records, "", node_with("n1"))[1] == f"default/p: {wanted}"


def test_lists_first_the_reason_of_nodes_that_are_meant_for_the_pod() -> None:
    """Most nodes have a taint and are not meant for the pod."""
    taint = {"key": "dedicated", "value": "a", "effect": "NoSchedule"}
    tainted = [{**node_with(f"t{number}"), "spec": {"taints": [taint]}} for number in range(3)]
    found = _explanation({"requests": {"cpu": "9"}}, None, *tainted, node_with("n1"))
    assert [each.code for each in found.reasons] == [ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.UNTOLERATED_TAINT]


def test_lists_first_the_taint_of_nodes_that_have_the_resource() -> None:
    taint = {"key": GPU, "effect": "NoSchedule"}
    gpu_node = node_with("gpu", allocatable={"cpu": "4", GPU: "1"}, taints=[taint])
    nodes = [node_with(f"n{number}", allocatable={"cpu": "1"}) for number in range(3)]
    found = _explanation({"requests": {"cpu": "2", GPU: "1"}}, None, gpu_node, *nodes)
    assert [each.text for each in found.reasons] == [
        f"node(s) had untolerated taint(s): {GPU}:NoSchedule",
        "Insufficient cpu",
        f"Insufficient {GPU}",
    ]


def test_lists_first_the_taint_of_nodes_that_the_pod_selects() -> None:
    taints = [{"key": "dedicated", "effect": "NoSchedule"}]
    nodes = [node_with(name, labels={"pool": "general"}) for name in ("a", "b")]
    nodes += [node_with("c", taints=taints), node_with("db", labels={"pool": "db"}, taints=taints)]
    for spec in (
        {"nodeSelector": {"pool": "db"}},
        {"affinity": _required({"key": "pool", "operator": "In", "values": ["db"]})},
    ):
        found = _explanation(spec, None, *nodes)
        assert [(each.code, names) for each, names in found.reasons.items()] == [
            (ReasonCode.UNTOLERATED_TAINT, ["db", "c"]),
            (ReasonCode.NODE_AFFINITY_MISMATCH, ["a", "b"]),
        ]


SPREAD = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
AFFINE = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "rack", "labelSelector": {"matchLabels": {"a": "b"}}}
        ]
    }
}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param(
            {}, [("disk:NoSchedule, gpu=yes:NoExecute", ["a"]), ("gpu=yes:NoExecute", ["b", "c"])], id="taints"
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}], "topologySpreadConstraints": [SPREAD]},
            [("no label rack", ["a", "b", "c"])],
            id="the label of a spread constraint",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}], "affinity": AFFINE},
            [("no label rack", ["a", "b", "c"])],
            id="the label of a pod affinity",
        ),
    ],
)
def test_reason_names_the_taints_and_the_missing_label_of_its_nodes(
    spec: dict[str, Any], wanted: list[tuple[str, list[str]]]
) -> None:
    gpu, disk = {"key": "gpu", "value": "yes", "effect": "NoExecute"}, {"key": "disk", "effect": "NoSchedule"}
    nodes = [node_with("a", taints=[disk, gpu]), *(node_with(each, taints=[gpu]) for each in "bc")]
    found = _explanation(spec, None, *nodes)
    reasons: Any = document(found)["reasons"]
    assert sorted((each["detail"], each["nodes"]) for each in reasons) == wanted
    assert all(each["reason"].endswith(f": {each['detail']}") for each in reasons)


def label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def one_of(*expressions: Mapping[str, object]) -> dict[str, Any]:
    """Return a required node affinity with a term for each of these expressions."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [each]} for each in expressions]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({"nodeSelector": {"zone": "d"}}, ["no node has zone=d"], id="a value unlike those of nodes"),
        pytest.param({"nodeSelector": {"pool": "sdt"}}, ["no node has pool=sdt; did you mean std?"], id="a value"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, ["no node has disk=ssd"], id="a label that no node has"),
        pytest.param({"nodeSelector": {"zones": "a"}}, ["no node has zones=a; did you mean the key zone?"], id="a key"),
        pytest.param({"nodeSelector": {"zone": "a"}}, [], id="a label of a node"),
        pytest.param(one_of(label("zone", "In", "c", "d")), ["no node has zone=c or d"], id="an affinity"),
        pytest.param(one_of(label("zone", "In", "b", "d")), [], id="one of"),
        pytest.param(
            one_of(label("arch", "In", "arm64"), label("pool", "In", "gold")),
            ["no node has arch=arm64, nor pool=gold"],
            id="two terms",
        ),
        pytest.param(one_of(label("arch", "In", "arm64"), label("zone", "In", "a")), [], id="a node meets one term"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}, **one_of(label("arch", "Exists"), label("gen", "Exists"))},
            ["no node has disk=ssd"],
            id="the selector and one of two terms",
        ),
        pytest.param(one_of(label("gen", "Gt", "4")), ["no node has gen > 4"], id="greater"),
        pytest.param(one_of(label("gen", "Lt", "3")), ["no node has gen < 3"], id="less"),
        pytest.param(one_of(label("gen", "DoesNotExist")), ["every node has gen"], id="a label of every node"),
        pytest.param(
            one_of(label("gen", "NotIn", "3", "4"), label("arch", "Exists")),
            ["no node has arch", "every node has gen=3 or 4"],
            id="a label of every node, or one of none",
        ),
    ],
)
def test_first_line_names_labels_missing_on_every_node(spec: dict[str, Any], wanted: list[str]) -> None:
    nodes = [node_with(zone, {"zone": zone, "gen": gen, "pool": "std"}) for zone, gen in (("a", "3"), ("b", "4"))]
    found = _explanation({"requests": {"cpu": "9"}, **spec}, None, *nodes)
    assert [each for each in found.missing if "node has" in each] == wanted
    assert all(each in headline(found) for each in wanted)


def test_proposes_the_scheduler_that_has_tried_other_pods() -> None:
    tried = {**pod_with("other", schedulerName="berth-scheduler"), **said("Unschedulable", "0/1 nodes are available.")}
    misspelled = target(pod_with(schedulerName="bert-scheduler", metadata=CREATED), node_with("a"), tried)
    found = explain_pod(misspelled, rules(), weight=1, now=1e6, is_over=lambda: False)
    assert found.verdict is Verdict.UNTRIED
    assert "did you mean berth-scheduler?" in list(text(found, ()))[1]


def test_does_not_propose_changes_for_a_pod_that_waits_for_preempted_pods() -> None:
    waiting = {"requests": {"cpu": "3"}, "priority": 5, "status": {"nominatedNodeName": "b"}}
    nodes = [node_with("a"), node_with("b"), pod_with("v", nodeName="a", requests={"cpu": "3"})]
    found = _explanation(waiting, None, *nodes, preempted("w", "b", cpu="3"))
    wanted = "waits for default/w on b, which is being deleted; 0 of 2 nodes fit"
    assert headline(found) == f"default/p: pending for 4 min: {wanted}"
    assert found.search is None
    assert "waits for" not in "".join(list(text(found, ()))[1:])


def test_text_says_that_the_pod_may_not_preempt() -> None:
    found = _explanation({"requests": {"cpu": "9"}, "preemptionPolicy": "Never"}, None)
    assert "  preemption: not eligible due to preemptionPolicy=Never." in list(text(found, ()))


def test_lists_taints_after_reasons_of_nodes_without_taints() -> None:
    nodes = [node_with("a", {"pool": "db"}), *(node_with(each, {"pool": "db"}, taints=[TAINT]) for each in "bc")]
    found = _explanation({"nodeSelector": {"pool": "db"}, "requests": {"cpu": "9"}}, None, *nodes, node_with("d"))
    codes = (ReasonCode.INSUFFICIENT_RESOURCE, ReasonCode.UNTOLERATED_TAINT, ReasonCode.NODE_AFFINITY_MISMATCH)
    assert [each.code for each in found.reasons] == list(codes)


TAINT = {"key": "dedicated", "effect": "NoSchedule"}


def test_pod_does_not_fit_if_scoring_fails() -> None:
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    verdict, line = explained({"affinity": affinity}, None, "", node_with("n1"), node_with("n2"))
    assert verdict is SCHEDULER
    assert 'kube-scheduler fails: running PreScore plugin "NodeAffinity": pod has a preferred node affinity' in line


def test_document_contains_the_cause_without_its_age() -> None:
    found = _explanation({}, pending_cause(_target({}).state, FAILED, ""))
    assert document(found)["cause"] == f"Berth cannot decide (failure-cache-unavailable): {STALE}"


def test_document_contains_the_same_findings_as_the_text() -> None:
    found = _explanation({"schedulingGates": [{"name": "example.com/quota"}]}, None)
    shown = document(found)
    assert (shown["headline"], shown["gates"]) == (headline(found), ["example.com/quota"])
    assert document(_explanation({"metadata": {**CREATED, **DELETED}}, None))["finalizers"] == DELETED["finalizers"]


def explained(
    pod: Mapping[str, Any], records: Attempts | NoRecord | None, failure: str, *objects: Object
) -> tuple[Verdict, str]:
    found = _explanation(pod, pending_cause(_target(pod).state, records, failure), *objects)
    return found.verdict, headline(found)


def _explanation(pod: Mapping[str, Any], cause: Cause | None, *objects: Object) -> Explanation:
    return explain_pod(_target(pod, *objects), rules(), weight=1, now=NOW, is_over=lambda: False, cause=cause)


def _target(pod: Mapping[str, Any], *objects: Object) -> Target:
    found = target(pod_with("p", **{"metadata": CREATED, **pod}), *(objects or [node_with("n1")]))
    return replace(found, state=replace(found.state, was_tried=True))
