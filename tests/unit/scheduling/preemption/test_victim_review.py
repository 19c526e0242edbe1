"""Review of kube-scheduler's proposed victims: nodes dropped, victims added (facts 26, 27 and 29)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, Status, unresolvable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.victim_review import Proposal
from berth_cli.placement.scheduler.preemption import Ineligible
from tests.builders.nodes import PRIORITY, node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.preemption.preempting import NODE, app, placed, preempt, read, snapshot, urgent

Object = dict[str, Any]

FULL = BerthConfiguration.model_validate({"profile": "full"})
ONE = BerthConfiguration.model_validate({"profile": "full", "preemption": {"choose": "one"}})
LABEL = BerthConfiguration()

Answer = dict[str, tuple[list[str], int]]
"""The names of the victims in order, and the number of violations, by node."""


def review_victims(
    pod: Object,
    proposed: Mapping[str, Sequence[str]],
    *objects: Object,
    configuration: BerthConfiguration = FULL,
    counted: int = 0,
    bodies: Sequence[Object] = (),
) -> Answer:
    """Return the reviewed victims. proposed: names by node. bodies: the pods in the request, as in full mode."""
    pods = {found.uid: found for found in map(read, bodies)}
    proposals = {
        node: Proposal(tuple(f"uid-{name}" for name in names), counted, pods) for node, names in proposed.items()
    }
    found = configuration.policy().review_victims(read(pod), proposals, snapshot(*objects))
    return {
        node: ([victim.uid.removeprefix("uid-") for victim in victims.pods], victims.num_pdb_violations)
        for node, victims in found.victims.items()
    }


DB, WEB = {"app": "db"}, {"app": "web"}


@pytest.mark.parametrize(
    ("pod", "proposed", "objects", "wanted"),
    [
        pytest.param(urgent("1"), ["a"], [placed("a", cpu="4")], ["a"], id="enough victims: unchanged"),
        pytest.param(
            urgent("2"),
            ["a"],
            [placed("a", 5), placed("b", 4, "2"), placed("c", 3, "1")],
            ["a", "c"],
            id="not enough victims: adds the least important pod needed",
        ),
        pytest.param(urgent("3"), ["c"], [placed("a", 5, "2"), placed("c", 3, "2")], ["a", "c"], id="by priority"),
        pytest.param(
            urgent("1"),
            ["a", "b"],
            [placed("a", 5, "2"), placed("b", 5, "2")],
            ["a", "b"],
            id="more victims than the policy needs: none is reprieved",
        ),
        pytest.param(urgent("4"), ["a"], [placed("a"), placed("b", 100)], None, id="no more pods of lower priority"),
        pytest.param(urgent("4"), ["a"], [placed("a", 100, "4")], None, id="a victim of equal priority"),
        pytest.param(urgent("5"), ["a"], [placed("a", cpu="4")], None, id="the node is too small without any pod"),
        pytest.param(
            urgent("1", nodeSelector={"disk": "ssd"}),
            ["a"],
            [placed("a", cpu="4")],
            None,
            id="a missing label that no eviction changes",
        ),
        pytest.param(urgent("1"), ["a"], [placed("b")], ["a"], id="a victim unknown to the cache"),
        pytest.param(urgent("4"), ["new"], [placed("a"), placed("b")], ["new", "a", "b"], id="beside unknown victims"),
        pytest.param(urgent("4"), ["new"], [placed("b", 100)], None, id="blocking pods cannot be evicted"),
        pytest.param(urgent("1"), [], [placed("a", cpu="4")], ["a"], id="no proposed victim but the policy needs one"),
        pytest.param(urgent("1"), [], [placed("a")], None, id="no victim needed: the node is omitted"),
        pytest.param(
            urgent("1", namespace="kube-system", nodeSelector={"disk": "ssd"}),
            ["a"],
            [placed("a")],
            ["a"],
            id="an exempt pod ignores the policy",
        ),
        pytest.param(
            urgent("1", namespace="kube-system"),
            ["a"],
            [placed("a", 100)],
            None,
            id="an exempt pod does not evict equal priority",
        ),
        pytest.param(
            urgent(
                "1",
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"labelSelector": app("db"), "topologyKey": "kubernetes.io/hostname"}
                        ]
                    }
                },
            ),
            ["a"],
            [placed("a", labels=DB)],
            None,
            id="the pod fits only with the victim",
        ),
    ],
)
def test_accepts_rejects_or_extends_the_proposed_victims(
    pod: Object, proposed: list[str], objects: list[Object], wanted: list[str] | None
) -> None:
    found = review_victims(pod, {"n": proposed}, NODE, *objects)
    assert found == ({} if wanted is None else {"n": (wanted, 0)})


class Alone(FilterPlugin):
    name = "Alone"

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        return unresolvable(self.name, "others were there") if node.pods else SUCCESS


def test_does_not_preempt_on_an_unresolvable_node() -> None:
    policy = Policy(Profile("alone", (Alone(),), ()), Exemption())
    cluster = snapshot(NODE, placed("a"), node_with("m"))
    proposals = {name: Proposal(("uid-a",), 0) for name in ("n", "m")}
    assert list(policy.review_victims(read(urgent()), proposals, cluster).victims) == ["m"]


def test_leaves_victims_on_an_unknown_node_unchanged() -> None:
    assert review_victims(urgent(), {"new": ["b", "a"]}, NODE) == {"new": (["b", "a"], 0)}


def test_treats_victim_on_another_node_as_unknown() -> None:
    assert review_victims(urgent("4"), {"n": ["a"]}, NODE, placed("b"), node_with("m"), placed("a", node="m")) == {
        "n": (["a", "b"], 0)
    }


@pytest.mark.parametrize(
    ("label", "wanted"),
    [pytest.param({PRIORITY: "1"}, {"n": (["a", "new"], 2)}, id="good"), pytest.param({}, {}, id="barred")],
)
def test_keeps_victims_if_plugins_do_not_read_pods(label: dict[str, str], wanted: Answer) -> None:
    cluster = node_with("n", label), placed("a"), placed("b", cpu="9")
    assert review_victims(urgent(), {"n": ["a", "new"]}, *cluster, configuration=LABEL, counted=2) == wanted


def test_rejects_node_with_defect() -> None:
    odd = {"kind": "Node", "metadata": {"name": "n", "labels": {PRIORITY: 1}}}
    assert review_victims(urgent(), {"n": ["a"]}, odd, configuration=LABEL) == {}


@pytest.mark.parametrize(
    ("bodies", "wanted"),
    [
        pytest.param([placed("x", 1), placed("y", 2)], {"n": (["y", "x"], 0)}, id="known from the request"),
        pytest.param([placed("x", 100), placed("y", 2)], {}, id="victim of equal priority known only from the request"),
        pytest.param([placed("a", 100)], {}, id="equal priority in the request and lower priority in the cache"),
    ],
)
def test_victims_in_the_request_take_precedence_over_the_cache(bodies: list[Object], wanted: Answer) -> None:
    names = [body["metadata"]["name"] for body in bodies]
    assert review_victims(urgent("1"), {"n": names}, NODE, placed("a", 1), bodies=bodies) == wanted


def test_reviews_each_node_independently() -> None:
    nodes = node_with("a"), node_with("b"), node_with("c"), node_with("d", unschedulable=True)
    pods = (
        placed("va", cpu="4", node="a"),
        placed("vb", node="b"),
        placed("wb", cpu="3", node="b"),
        placed("vc", 100, node="c"),
    )
    found = review_victims(
        urgent("4"), {"a": ["va"], "b": ["vb"], "c": ["vc"], "d": ["vd"], "new": ["x"]}, *nodes, *pods
    )
    assert found == {"a": (["va"], 0), "b": (["vb", "wb"], 0), "new": (["x"], 0)}


@pytest.mark.parametrize(
    ("proposed", "priorities"),
    [
        pytest.param(["unknown"], [99], id="just below the pod's priority"),
        pytest.param(["unknown", "a"], [99, 7], id="more important than the victims after it"),
        pytest.param(["a", "unknown"], [7, 7], id="no more important than the victim before it"),
    ],
)
def test_assumes_the_highest_priority_for_an_unknown_victim(proposed: list[str], priorities: list[int]) -> None:
    proposals = {"n": Proposal(tuple(f"uid-{name}" for name in proposed), 0)}
    found = LABEL.policy().review_victims(
        read(urgent("1")), proposals, snapshot(node_with("n", {PRIORITY: "1"}), placed("a", 7))
    )
    assert [victim.uid.removeprefix("uid-") for victim in found.victims["n"].pods] == proposed
    assert [victim.priority for victim in found.victims["n"].pods] == priorities


# A nominated node is resolvable if the pod only has to wait for its victims (fact 15a).

POLICY = BerthConfiguration.model_validate({"profile": "full"}).policy()
NOMINATED: Object = {"status": {"nominatedNodeName": "n"}}


def leaving(cpu: str = "4", priority: int = 0, reason: str = "PreemptionByScheduler", **fields: Any) -> Object:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return placed("leaving", priority, cpu, conditions=[condition], **{"terminating": True, **fields})


@pytest.mark.parametrize(
    ("pod", "objects", "wanted"),
    [
        pytest.param(urgent(**NOMINATED), [NODE, leaving()], {"n"}, id="it fits once its victims have terminated"),
        pytest.param(urgent(), [NODE, leaving()], set(), id="it is not nominated"),
        pytest.param(urgent(**NOMINATED), [NODE, placed("a", cpu="4")], {"n"}, id="cache shows no terminating victims"),
        pytest.param(urgent(**NOMINATED), [NODE, leaving(reason="EvictionByEvictionAPI")], {"n"}, id="by another"),
        pytest.param(urgent(**NOMINATED), [NODE, placed("a", 100, "4")], set(), id="pod on node cannot be its victim"),
        pytest.param(urgent(**NOMINATED), [node_with("n", unschedulable=True)], set(), id="the node is empty"),
        pytest.param(urgent(**NOMINATED), [NODE, leaving(priority=100)], set(), id="victim of another pod terminates"),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, leaving("2"), placed("a", 100, cpu="2")],
            set(),
            id="it will not fit after its victims have terminated",
        ),
        pytest.param(
            urgent("2", **NOMINATED),
            [NODE, leaving("2"), placed("a", 100, "2")],
            {"n"},
            id="it will fit after one victim has terminated",
        ),
        pytest.param(
            urgent("2", **NOMINATED),
            [
                NODE,
                leaving("4"),
                pod_with("other", priority=100, requests={"cpu": "3"}, status={"nominatedNodeName": "n"}),
            ],
            set(),
            id="another pod waits for the room",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [node_with("n", unschedulable=True), leaving()],
            set(),
            id="another filter also rejects the node",
        ),
        pytest.param(
            urgent(**NOMINATED),
            [NODE, leaving(), node_with("m"), placed("b", cpu="4", node="m")],
            {"n"},
            id="other nodes stay unresolvable",
        ),
    ],
)
def test_nominated_node_is_resolvable_if_victims_free_it(pod: Object, objects: list[Object], wanted: set[str]) -> None:
    cluster, asking = snapshot(*objects), read(pod)
    rejected = POLICY.feasibility(asking, list(cluster.nodes), cluster).rejected
    assert rejected.keys() == cluster.nodes.keys()
    assert POLICY.resolvable(asking, rejected, cluster) == wanted


@pytest.mark.parametrize("labels", [pytest.param({}, id="missing"), pytest.param({PRIORITY: "x"}, id="not an integer")])
def test_node_without_label_stays_unresolvable(labels: dict[str, str]) -> None:
    by_label, asking, cluster = (
        BerthConfiguration().policy(),
        read(urgent(**NOMINATED)),
        snapshot(node_with("n", labels), leaving()),
    )
    rejected = by_label.feasibility(asking, ["n"], cluster).rejected
    assert list(rejected) == ["n"]
    assert by_label.resolvable(asking, rejected, cluster) == set()


def test_unknown_node_is_unresolvable() -> None:
    cluster, asking = snapshot(leaving(node="gone")), read(urgent(status={"nominatedNodeName": "gone"}))
    rejected = POLICY.feasibility(asking, ["gone"], cluster).rejected
    assert (list(rejected), POLICY.resolvable(asking, rejected, cluster)) == (["gone"], set())


# Which pods may preempt (fact 33).

PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
V = placed("v", cpu="2")
"""The pod that has to be evicted in any case."""


def preemptor(**fields: Any) -> Object:
    return urgent("3", **fields)


def terminating_pod(priority: int | None = 0, *conditions: Object, terminating: bool = True, node: str = "n") -> Object:
    found = conditions or (PREEMPTED,)
    return placed("leaving", priority, terminating=terminating, conditions=found, node=node)


@pytest.mark.parametrize(
    ("pod", "objects", "wanted"),
    [
        pytest.param(preemptor(), [NODE, V], None, id="a pod may preempt"),
        pytest.param(
            preemptor(preemptionPolicy="PreemptLowerPriority"), [NODE, V], None, id="preemptionPolicy allows it"
        ),
        pytest.param(
            preemptor(preemptionPolicy="Never"), [NODE, V], Ineligible.NEVER, id="preemptionPolicy forbids it"
        ),
        pytest.param(
            preemptor(**NOMINATED), [NODE, V, terminating_pod()], Ineligible.WAITING, id="its victims still terminate"
        ),
        pytest.param(preemptor(), [NODE, V, terminating_pod()], None, id="victims of another pod terminate"),
        pytest.param(
            preemptor(**NOMINATED), [NODE, V, terminating_pod(100)], None, id="terminating of the same priority"
        ),
        pytest.param(
            preemptor(priority=1, **NOMINATED),
            [NODE, V, terminating_pod(None)],
            Ineligible.WAITING,
            id="a victim without a priority has 0",
        ),
        pytest.param(
            preemptor(**NOMINATED), [NODE, V, terminating_pod(terminating=False)], None, id="pod is not terminating"
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [NODE, V, terminating_pod(0, {**PREEMPTED, "reason": "EvictionByEvictionAPI"})],
            None,
            id="another component deletes the pod",
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [NODE, V, terminating_pod(0, {**PREEMPTED, "status": "False"})],
            None,
            id="the condition is False",
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [NODE, V, terminating_pod(0, {**PREEMPTED, "reason": "TerminationByKubelet"}, PREEMPTED)],
            None,
            id="only the first condition of that type is read",
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [NODE, V, terminating_pod(0, {"type": "Ready"}, PREEMPTED)],
            Ineligible.WAITING,
            id="other types",
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [NODE, node_with("m"), V, terminating_pod(node="m"), placed("w", cpu="2", node="m")],
            None,
            id="the victim is on another node",
        ),
        pytest.param(
            preemptor(**NOMINATED),
            [node_with("n", unschedulable=True), node_with("m"), terminating_pod(), placed("w", cpu="2", node="m")],
            None,
            id="the nominated node is now unresolvable",
        ),
        pytest.param(
            preemptor(status={"nominatedNodeName": "gone"}), [NODE, V, terminating_pod()], None, id="node was deleted"
        ),
    ],
)
def test_only_an_eligible_pod_preempts(pod: Object, objects: list[Object], wanted: Ineligible | None) -> None:
    found = preempt(pod, *objects)
    assert found.ineligible is wanted
    assert bool(found.candidates) is (wanted is None)
    assert (found.nominated is None) is (wanted is not None)


def test_ineligibility_reasons_equal_kube_schedulers_reasons() -> None:
    assert list(Ineligible) == [
        "not eligible due to preemptionPolicy=Never.",
        "not eligible due to a terminating pod on the nominated node.",
    ]
