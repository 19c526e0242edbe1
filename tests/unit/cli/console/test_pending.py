"""The console's list of pending pods by reason, and the explanation of a pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth_cli.console.access import Refusal
from berth_cli.console.cluster import ObservedCluster, followed_dump
from berth_cli.console.feed import Feed
from berth_cli.console.pending_documents import JUDGE_SECONDS, PendingDocuments
from berth_cli.explanation.explanation import explain_pod
from berth_cli.explanation.pod_state import pending_cause
from berth_cli.explanation.report import KEEPS_PODS, document, headline
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import read_target
from berth_cli.sources.node_document import node_document
from tests.builders.counted import counted_node
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with, preempted
from tests.unit.cli.console.cases import DEFAULT, NOW, HandDrivenSource, node, pod, snapshot

TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
FULL = ActiveConfiguration.of(BerthConfiguration.model_validate({"profile": "full"}))


def documents(
    nodes: Sequence[NodeInfo],
    pods: Sequence[Pod],
    configured: ActiveConfiguration = FULL,
    clock: Callable[[], float] = lambda: 0.0,
    weight: int = 1,
) -> PendingDocuments:
    feed = Feed(HandDrivenSource(ObservedCluster(snapshot(nodes, pods), NOW, configured)), lambda: NOW)
    feed.observe(0)
    return PendingDocuments(feed, clock, lambda: NOW, weight)


def of_dump(folder: Path, objects: Sequence[Mapping[str, Any]]) -> PendingDocuments:
    dump = folder / "dump.json"
    dump.write_bytes(orjson.dumps({"kind": "List", "items": objects}))
    feed = Feed(followed_dump(dump, FULL), lambda: NOW)
    feed.observe(0)
    return PendingDocuments(feed, lambda: 0.0, lambda: NOW)


def pending(found: PendingDocuments) -> dict[str, Any]:
    answer = found.pending({})
    assert isinstance(answer, bytes)
    content: dict[str, Any] = orjson.loads(answer)
    return content


def explained(found: PendingDocuments, name: str) -> dict[str, Any]:
    answer = found.explain({"pod": f"default/{name}"})
    assert isinstance(answer, bytes)
    content: dict[str, Any] = orjson.loads(answer)
    return content


def test_pods_are_categorized_by_scheduling_outcome() -> None:
    pods = [
        pod("fits"),
        pod("too-large", requests={"cpu": "9"}),
        pod("gated", schedulingGates=[{"name": "quota"}]),
        pod("on-node", "n1"),
    ]
    found = pending(documents([node("n1")], pods))
    assert found["count"] == 3
    assert {each["name"]: each["category"] for each in found["pods"]} == {
        "fits": "schedulable-now",
        "too-large": "unschedulable",
        "gated": "undetermined",
    }


def test_reason_lists_its_nodes_and_each_pod_lists_its_reasons() -> None:
    nodes = [node("n1"), node("n2", taints=[TAINT]), node("n3")]
    found = pending(documents(nodes, [pod(f"p{number}", requests={"cpu": "9"}) for number in range(3)]))
    assert [(each["reason"], [found["nodes"][at] for at in each["nodes"]]) for each in found["reasons"]] == [
        ("Insufficient cpu", ["n1", "n3"]),
        ("node(s) had untolerated taint(s)", ["n2"]),
    ]
    assert [each["reasons"] for each in found["pods"]] == [[0, 1]] * 3


def test_reasons_come_from_kube_scheduler_or_berth() -> None:
    nodes = [node("n1", labels={PRIORITY: "1"}, taints=[TAINT]), node("n2")]
    found = pending(documents(nodes, [pod("p")], DEFAULT))
    assert sorted((each["by"], each["plugin"]) for each in found["reasons"]) == [
        ("Berth", "NodePriorityLabel"),
        ("kube-scheduler", "TaintToleration"),
    ]


class SlowClock:
    """Advances by a fifth of the time limit at each reading: a request evaluates two kinds of pods."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += JUDGE_SECONDS / 5
        return self._now


def kinds(count: int, of_each: int = 1) -> list[Pod]:
    return [
        pod(f"p{cpu}-{number}", requests={"cpu": f"1{cpu}"}) for cpu in range(1, count + 1) for number in range(of_each)
    ]


def judged(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["pods"] if each["category"] != "undetermined"]


def test_similar_pods_are_evaluated_together_and_the_rest_at_the_next_request() -> None:
    asked = documents([node("n1")], kinds(5, of_each=3), clock=SlowClock())
    answers = [pending(asked) for _ in range(3)]
    assert [len(judged(each)) for each in answers] == [6, 12, 15]
    assert [each["isComplete"] for each in answers] == [False, False, True]


def test_new_configuration_reevaluates_all_pods() -> None:
    pods = [pod("p")]
    source = HandDrivenSource(ObservedCluster(snapshot([node("n1")], pods), NOW, FULL))
    feed = Feed(source, lambda: NOW)
    asked = PendingDocuments(feed, lambda: 0.0, lambda: NOW)
    answers = []
    for configured in (FULL, DEFAULT):
        source.shows(source.found.snapshot, configured=configured)  # type: ignore[union-attr]
        feed.observe(0)
        answers.append([each["category"] for each in pending(asked)["pods"]])
    assert answers == [["schedulable-now"], ["unschedulable"]]


def test_nominated_pod_does_not_count_against_itself() -> None:
    nominated = pod("p", requests={"cpu": "4"}, status={"nominatedNodeName": "n1"})
    found = explained(documents([node("n1")], [nominated]), "p")
    assert (found["verdict"], found["node"]) == ("placeable", "n1")
    other = pod("q", requests={"cpu": "1"})
    assert explained(documents([node("n1")], [nominated, other]), "q")["verdict"] != "placeable"


def test_explanation_uses_the_schedulers_weight_for_the_extender() -> None:
    nodes = [node("n1", labels={PRIORITY: "3"}), node("n2", labels={PRIORITY: "1"})]
    asked = (documents(nodes, [pod("p")], DEFAULT, weight=weight) for weight in (1, 5))
    low, high = (explained(each, "p")["ranking"][0] for each in asked)
    assert (low["node"], high["node"]) == ("n1", "n1")
    assert high["scores"]["Berth"] == 5 * low["scores"]["Berth"] > 0


CREATED = {"creationTimestamp": "1970-01-01T00:10:00Z"}
DELETED = {"deletionTimestamp": "1970-01-01T00:12:00Z", "finalizers": ["example.com/hold"]}
CLAIM: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]}
UNBOUND = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."
UNCHECKED = "spec.volumes[].persistentVolumeClaim: volumes are not checked; the scheduler may reject more nodes"
CALL = 'Post "http://127.0.0.1:8080/scheduler/filter": connection refused'


def tried(message: str = "", reason: str = "Unschedulable", **fields: Any) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"metadata": CREATED, "status": {"phase": "Pending", "conditions": [condition]}, **fields}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param(tried("0/1 nodes are available."), ("schedulable-now", ""), id="a pod that fits"),
        pytest.param(tried(schedulerName="berth"), ("schedulable-now", ""), id="a pod that another scheduler tries"),
        pytest.param(tried(requests={"cpu": "9"}), ("unschedulable", ""), id="a pod that does not fit"),
        pytest.param(
            tried(UNBOUND, **CLAIM), ("undetermined", f"the scheduler says: {UNBOUND}"), id="a claim that is not bound"
        ),
        pytest.param(
            {**CLAIM, "metadata": {"creationTimestamp": "1970-01-01T00:16:00Z"}},
            ("undetermined", UNCHECKED),
            id="a new pod with a claim",
        ),
        pytest.param(
            tried(CALL, "SchedulerError"), ("undetermined", f"the scheduler says: {CALL}"), id="a cycle that fails"
        ),
        pytest.param(
            {"schedulerName": "nobody", "metadata": CREATED},
            ("undetermined", "no scheduler named nobody has tried it"),
            id="a schedulerName that nobody serves",
        ),
        pytest.param(
            {"schedulerName": "nobody", "metadata": {"creationTimestamp": "1970-01-01T00:16:00Z"}},
            ("undetermined", "of nobody, if that scheduler runs"),
            id="a new pod of another scheduler",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/quota"}], "metadata": CREATED},
            ("undetermined", "its scheduling gates hold it (example.com/quota)"),
            id="a gate",
        ),
        pytest.param(tried(metadata={**CREATED, **DELETED}), None, id="a pod that is being deleted: not listed"),
    ],
)
def test_verdict_equals_the_verdict_of_berth_explain(
    tmp_path: Path, fields: dict[str, Any], wanted: tuple[str, str] | None
) -> None:
    objects = [node_with("n1"), pod_with("p", **fields)]
    asked = of_dump(tmp_path, objects)
    listed = [(each["category"], each["note"]) for each in pending(asked)["pods"]]
    assert listed == ([] if wanted is None else [wanted])
    rules = Rules(FULL.document)
    target = read_target(objects, "dump.json", "default/p", rules.configuration.counting)
    own = explain_pod(target, rules, weight=1, now=NOW, is_over=lambda: False, cause=pending_cause(target.state))
    shown = explained(asked, "p")
    assert {key: shown[key] for key in ("headline", "verdict", "gates", "finalizers")} == {
        "headline": headline(own),
        "verdict": own.verdict,
        "gates": list(own.target.state.gates),
        "finalizers": list(own.target.state.finalizers),
    }


def described(name: str, on: str = "", app: str = "", **fields: Any) -> dict[str, Any]:
    """Return a pod that has a controller."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "controller": True}
    fields |= {"nodeName": on} if on else {}
    metadata: dict[str, Any] = {"ownerReferences": [owner], "labels": {"app": app or name}}
    return pod_with(name, metadata=metadata, **fields)


WHOLE: dict[str, Any] = {"requests": {"cpu": "4"}}
TOLERATION: dict[str, Any] = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "beside"}},
}
ENDS = "free 2 cpu on node n1: end default/old (holds 4 cpu)"


@pytest.mark.parametrize(
    ("taints", "fields", "ends"),
    [
        pytest.param([], {"nodeSelector": {"kubernetes.io/hostname": "n1"}}, False, id="node selector"),
        pytest.param([], {"topologySpreadConstraints": [SPREAD]}, False, id="spread constraint"),
        pytest.param([TAINT], {}, False, id="no toleration"),
        pytest.param([TAINT], TOLERATION, True, id="toleration"),
    ],
)
def test_suggests_ending_a_pod_only_if_its_replacement_fits_elsewhere(
    tmp_path: Path, taints: list[object], fields: dict[str, Any], ends: bool
) -> None:
    nodes = [node_with(name, labels={"kubernetes.io/hostname": name}) for name in ("n1", "n2", "n3")]
    nodes[1]["spec"] = nodes[2]["spec"] = {"taints": taints}
    # n3 is full, so the spread constraint allows n1 only.
    objects = [*nodes, *(described(f"beside-{at}", "n2", app="beside") for at in range(2))]
    objects += [described("filling", "n3", **WHOLE), described("old", "n1", **WHOLE, **fields)]
    objects.append(described("p", requests={"cpu": "2"}, nodeSelector={"kubernetes.io/hostname": "n1"}))
    found = explained(of_dump(tmp_path, objects), "p")
    target = read_target(objects, "dump.json", "default/p", FULL.document.policy().counting)
    own = document(explain_pod(target, Rules(FULL.document), weight=1, now=NOW, is_over=lambda: False))
    assert found["counterfactuals"] == own["counterfactuals"]
    assert (ENDS in texts(found)) is ends


def texts(found: dict[str, Any]) -> list[str]:
    return [change["text"] for each in found["counterfactuals"] for change in each["changes"]]


def test_does_not_suggest_ending_a_controllers_pod_if_the_cache_lacks_selectors() -> None:
    owned = read_pod(described("old", "n1", **WHOLE))
    assert isinstance(owned, Pod)
    wanting = pod("p", requests={"cpu": "2"}, nodeSelector={"kubernetes.io/hostname": "n1"})
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in ("n1", "n2")]
    found = explained(documents(nodes, [owned, wanting]), "p")
    assert ENDS not in texts(found)
    assert found["searchNote"] == KEEPS_PODS
    bare = explained(documents(nodes, [pod("old", "n1", **WHOLE), wanting]), "p")
    assert ENDS in texts(bare)
    assert bare["searchNote"] == ""


def test_pod_that_is_not_tried_for_a_minute_becomes_undetermined(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    waiting = pod_with("p", metadata={"creationTimestamp": "1970-01-01T00:16:00Z"})
    dump.write_bytes(orjson.dumps({"kind": "List", "items": [node_with("n1"), waiting]}))
    feed, times = Feed(followed_dump(dump, FULL), lambda: NOW), iter((NOW, NOW + 60))
    feed.observe(0)
    asked = PendingDocuments(feed, lambda: 0.0, lambda: next(times))
    assert [pending(asked)["pods"][0]["category"] for _ in range(2)] == ["schedulable-now", "undetermined"]


def nominated(pod: dict[str, Any], node: str) -> dict[str, Any]:
    return {**pod, "status": {**pod["status"], "nominatedNodeName": node}}


def waiting(name: str, minute: int = 15, cpu: str = "3", **fields: Any) -> dict[str, Any]:
    metadata = {"metadata": {"creationTimestamp": f"1970-01-01T00:{minute}:00Z"}}
    return pod_with(name, **(tried() | metadata), requests={"cpu": cpu}, **fields)


@pytest.mark.parametrize(
    ("pods", "wanted"),
    [
        pytest.param(
            [waiting("p"), waiting("big", priority=5)],
            {"p": "default/big of higher priority would take it first", "big": None},
            id="higher priority",
        ),
        pytest.param(
            [waiting("p"), waiting("q"), waiting("old", 14), waiting("small", 14, cpu="1")],
            {
                "p": "default/old of equal priority is older and would take it first",
                "q": "default/old of equal priority is older and would take it first",
                "old": None,
                "small": None,
            },
            id="older",
        ),
        pytest.param([waiting("p"), waiting("q")], {"p": None, "q": None}, id="equal age"),
        pytest.param(
            [waiting("p"), waiting("old", 14, schedulingGates=[{"name": "hold"}])],
            {"p": None, "old": "its scheduling gates hold it (hold)"},
            id="gated",
        ),
        pytest.param(
            [waiting("p"), pod_with("victim", nodeName="n1", requests={"cpu": "2"}, priority=-5)],
            {"p": "preemption would place it on n1"},
            id="preemption",
        ),
        pytest.param(
            [waiting("p", cpu="1"), waiting("q", 14), pod_with("v", nodeName="n1", requests={"cpu": "2"}, priority=-5)],
            {"p": None, "q": "preemption would place it on n1"},
            id="older pod that preempts",
        ),
        pytest.param(
            [nominated(waiting("p", priority=5), "n1"), preempted("v", "n1", cpu="3")],
            {"p": "waits for default/v on n1, which is being deleted"},
            id="preempted pod that is being deleted",
        ),
    ],
)
def test_state_of_a_listed_pod_is_the_verdict_of_its_explanation(
    tmp_path: Path, pods: list[dict[str, Any]], wanted: dict[str, str | None]
) -> None:
    asked = of_dump(tmp_path, [node_with("n1"), *pods])
    found = {each["name"]: each for each in pending(asked)["pods"]}
    assert {name: each["note"] or None for name, each in found.items()} == wanted
    for name, note in wanted.items():
        assert (found[name]["category"] == "schedulable-now") is (explained(asked, name)["verdict"] == "placeable")
        assert (note or "") in explained(asked, name)["headline"]


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        pytest.param("default/on-node", 404, id="a pod with a node"),
        pytest.param("default/nobody", 404, id="missing pod name"),
        pytest.param("nobody", 400, id="missing namespace"),
        pytest.param("", 400, id="empty query"),
    ],
)
def test_request_for_a_pod_that_is_not_pending_is_rejected(wanted: str, status: int) -> None:
    answer = documents([node("n1")], [pod("on-node", "n1")]).explain({"pod": wanted})
    assert isinstance(answer, Refusal)
    assert answer.status == status


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(node("n", labels={"a": "b"}, taints=[TAINT], unschedulable=True), id="labels and taints"),
        pytest.param(node("n", allocatable={"cpu": "1500m", "example.com/x": "3"}), id="amounts"),
        pytest.param(counted_node("n", "5", "10,20"), id="annotations"),
    ],
)
def test_node_can_be_read_back_from_its_document(info: NodeInfo) -> None:
    assert read_node(node_document(info)) == info
