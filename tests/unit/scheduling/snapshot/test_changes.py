"""Pods that are being bound: they count on their node before the cluster shows them there (fact 40)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.feasibility import Feasibility
from berth.scheduling.framework.plugin import Code
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.victim_review import Proposal
from berth.scheduling.snapshot.changes import AssumedPod, Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import LICENCE, LICENCES, MEMORY, asking, configuration, counted_node, on_device
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with

NO_LICENCE = "Insufficient example.com/licence"
NAMES = ["n1", "n2"]
HOST_NAME = "kubernetes.io/hostname"


def policy(scoring: str = "binpack") -> Policy:
    plugins = [{"name": "ManagedResources", "args": {"scoring": scoring}}]
    return configuration(pluginConfig=plugins).policy()


def reasons(found: Feasibility) -> dict[str, str]:
    return {name: status.message for name, status in found.rejected.items()}


def assumed(name: str = "a", node: str = "n1", shares: Mapping[str, int] | None = None) -> AssumedPod:
    return AssumedPod("ml", name, f"uid-{name}", node, shares or {LICENCE: 2})


def cluster(pods: Iterable[Pod] = (), licences: int = 4) -> Snapshot:
    return Snapshot.of([counted_node("n1", str(licences)), counted_node("n2", str(licences))], pods)


@pytest.mark.parametrize(
    ("pods", "open_reservations", "feasible"),
    [
        pytest.param([], [], ["n1", "n2"], id="no pod"),
        pytest.param([], [assumed()], ["n2"], id="a pod unknown to the cache"),
        pytest.param([asking("a", licence="2")], [assumed()], ["n2"], id="a pod that is pending in the cache"),
        pytest.param([asking("a", "n1", licence="2")], [assumed()], ["n2"], id="a pod on the node is counted once"),
        pytest.param([], [assumed(shares={LICENCE: 1}), assumed(shares={LICENCE: 1})], NAMES, id="two attempts, one"),
        pytest.param([], [assumed("asks")], ["n1", "n2"], id="the pod itself"),
        pytest.param([], [assumed("asks"), assumed("b")], ["n2"], id="the pod itself and another"),
        pytest.param([], [assumed(node="gone")], ["n1", "n2"], id="an unknown node"),
        pytest.param([], [assumed(shares={LICENCE: 1})], ["n1", "n2"], id="a small request"),
    ],
)
def test_assumed_pods_reduce_the_remaining_amount(
    pods: list[Pod], open_reservations: list[AssumedPod], feasible: list[str]
) -> None:
    asks = asking("asks", licence="3")
    decision = policy().feasibility(asks, NAMES, cluster(pods).assuming(open_reservations))
    assert decision.feasible == feasible
    assert {status.reasons for status in decision.rejected.values()} <= {(NO_LICENCE,)}
    assert {status.code for status in decision.rejected.values()} <= {Code.UNSCHEDULABLE}


def test_node_filled_by_its_own_pods_keeps_its_reason() -> None:
    snapshot = cluster([asking("x", "n1", licence="4")]).assuming([assumed()])
    assert reasons(policy().feasibility(asking(licence="1"), NAMES, snapshot)) == {"n1": NO_LICENCE}


def test_counts_an_assumed_pod_on_its_reserved_device() -> None:
    """The request of the pod does not determine its device."""
    nodes = [counted_node("n1", sizes="8000,8000")]
    snapshot = Snapshot.of(nodes, [asking("a", gpumem="5000")])
    pod = asking("asks", gpumem="6000")
    first = [assumed("a", shares={f"{MEMORY}#0": 5000})]
    both = [*first, assumed("b", shares={f"{MEMORY}#1": 5000})]
    assert policy().feasibility(pod, ["n1"], snapshot.assuming(first)).feasible == ["n1"]
    assert policy().feasibility(pod, ["n1"], snapshot.assuming(both)).feasible == []


def test_assumed_pod_known_to_the_cache_counts_with_all_its_requests() -> None:
    """Matches kube-scheduler's assumed pods. For a pod unknown to the cache, only the reserved amount is known."""
    document = {"profile": "mine", "managedResources": [LICENCES], "definitions": {"mine": {"extends": FULL}}}
    found = BerthConfiguration.model_validate(document).policy()
    pod, pending = asking("asks", cpu="33"), asking("a", cpu="32", licence="1")
    known, unknown = (cluster(pods).assuming([assumed()]) for pods in ([pending], []))
    assert reasons(found.feasibility(pod, NAMES, known)) == {"n1": "Insufficient cpu"}
    assert found.feasibility(pod, NAMES, unknown).feasible == NAMES


@pytest.mark.parametrize(
    ("scoring", "best"),
    [
        pytest.param("binpack", "n1", id="binpack: prefers the node of the assumed pod"),
        pytest.param("spread", "n2", id="spread: avoids the node of the assumed pod"),
    ],
)
def test_scores_count_assumed_pods(scoring: str, best: str) -> None:
    found, snapshot = policy(scoring), cluster().assuming([assumed(shares={LICENCE: 1})])
    pod = asking("asks", licence="1")
    assert found.best(pod, ["n2", "n1"], snapshot).feasible == [best]
    scores = dict(zip(NAMES, found.scores(pod, NAMES, snapshot), strict=True))
    assert max(scores, key=lambda name: scores[name]) == best
    # Without assumed pods, all nodes have the same score.
    assert len(set(found.scores(pod, NAMES, cluster()))) == 1


def test_scores_do_not_count_the_pods_own_reservation() -> None:
    snapshot, pod = cluster(), asking("asks", licence="1")
    own = snapshot.assuming([assumed("asks", shares={LICENCE: 1})])
    assert policy().scores(pod, NAMES, own) == policy().scores(pod, NAMES, snapshot)


@pytest.mark.parametrize(
    ("nominated", "being_bound", "feasible"),
    [
        pytest.param("", True, ["n1"], id="an assumed pod counts"),
        pytest.param("n1", False, [], id="the node must also fit without a nominated pod"),
        pytest.param("n1", True, ["n1"], id="a pod both assumed and nominated counts"),
        pytest.param("", False, [], id="a pending pod does not count"),
    ],
)
def test_pod_affinity_counts_an_assumed_pod(nominated: str, being_bound: bool, feasible: list[str]) -> None:
    friend = pod_with("a", {"app": "friend"}, namespace="ml", status={"nominatedNodeName": nominated}, priority=9)
    term = {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": HOST_NAME}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod = read_pod(pod_with("asks", namespace="ml", priority=1, affinity={"podAffinity": required}))
    pending = read_pod(friend)
    assert isinstance(pod, Pod)
    assert isinstance(pending, Pod)
    nodes = [read_node(node_with(name)) for name in NAMES]
    snapshot = Snapshot.of([node for node in nodes if isinstance(node, NodeInfo)], [pending])
    if being_bound:
        snapshot = snapshot.assuming([assumed()])
    assert BerthConfiguration(profile=FULL).policy().feasibility(pod, NAMES, snapshot).feasible == feasible


@pytest.mark.parametrize(
    ("pending", "asks", "victims"),
    [
        pytest.param([], "1", ["uid-v"], id="enough room after evicting the pod on the node"),
        pytest.param([asking("a", licence="2", priority=5)], "3", ["uid-a", "uid-v"], id="assumed pod is also evicted"),
        pytest.param([asking("a", licence="2", priority=10)], "3", None, id="an assumed pod of equal priority stays"),
        pytest.param([], "3", None, id="an assumed pod unknown to the cache stays"),
        pytest.param([], "5", None, id="a node that is too small"),
    ],
)
def test_preemption_counts_assumed_pods(pending: list[Pod], asks: str, victims: list[str] | None) -> None:
    snapshot = cluster([asking("v", "n1", licence="2", priority=1), *pending]).assuming([assumed()])
    pod, proposals = asking("asks", licence=asks, priority=10), {"n1": Proposal(("uid-v",), 0)}
    found = policy().review_victims(pod, proposals, snapshot).victims
    assert (None if "n1" not in found else [victim.uid for victim in found["n1"].pods]) == victims


def test_nominated_node_is_resolvable_only_if_it_has_room_beside_assumed_pods() -> None:
    leaving = replace(asking("v", "n1", licence="2", priority=1), terminating=True, disruption_target=True)
    snapshot = cluster([leaving])
    for asks, resolvable in (("2", {"n1"}), ("3", set())):
        pod, later = asking("asks", licence=asks, priority=9, nominated="n1"), snapshot.assuming([assumed()])
        rejected = policy().feasibility(pod, ["n1"], later).rejected
        assert policy().resolvable(pod, rejected, later) == resolvable


def test_assumed_pod_does_not_count_as_nominated() -> None:
    waiting = asking("a", licence="2", nominated="n2", priority=5)
    pod = asking("asks", licence="3", priority=1)
    assert policy().feasibility(pod, NAMES, cluster([waiting])).feasible == ["n1"]
    assert policy().feasibility(pod, NAMES, cluster([waiting]).assuming([assumed()])).feasible == ["n2"]


def test_counts_nominated_pods_in_addition_to_assumed_pods() -> None:
    waiting = asking("b", licence="1", nominated="n1", priority=5)
    snapshot = cluster([waiting]).assuming([assumed()])
    assert policy().feasibility(asking("asks", licence="2", priority=1), NAMES, snapshot).feasible == ["n2"]
    assert policy().feasibility(asking("asks", licence="2", priority=9), NAMES, snapshot).feasible == NAMES


def test_assumed_pods_do_not_invalidate_cached_results(monkeypatch: pytest.MonkeyPatch) -> None:
    found, snapshot = policy(), cluster()
    pod = asking("asks", licence="1")
    found.feasibility(pod, NAMES, snapshot)
    found.scores(pod, NAMES, snapshot)
    judged = _judged(monkeypatch)
    for number in range(3):
        later = snapshot.assuming([assumed(f"a{number}")])
        assert found.feasibility(pod, NAMES, later).feasible == NAMES
        found.scores(pod, NAMES, later)
    assert set(judged) == {"n1"}
    # The cached results are still those of the snapshot without assumed pods.
    judged.clear()
    assert found.feasibility(asking("asks", licence="1"), NAMES, snapshot).feasible == NAMES
    assert judged == []


def test_evaluation_is_shared_with_and_without_assumed_pods() -> None:
    profile, evaluations, snapshot = policy().profile, EvaluationCache(), cluster()
    pod = asking("asks", licence="1")
    assert evaluations.of(profile, pod, snapshot) is evaluations.of(profile, pod, snapshot.assuming([assumed()]))
    assert evaluations.of(profile, pod, snapshot) is not evaluations.of(profile, pod, cluster())


def test_next_snapshot_omits_earlier_assumed_pods() -> None:
    snapshot = cluster().assuming([assumed()])
    assert snapshot.with_changes(Changes(pods=(asking("a", "n1", licence="2"),))).assumed == {}


def test_without_assumed_pods_the_snapshot_is_the_same_object() -> None:
    snapshot = cluster([asking("a", "n1", on_device(0), licence="2")])
    assert snapshot.assuming([]) is snapshot.assuming([assumed()]) is snapshot


def _judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the nodes that ManagedResources evaluates from now on."""
    judged: list[str] = []
    capacity = Counting.capacity

    def noted(self: Counting, node: NodeInfo) -> object:
        judged.append(node.name)
        return capacity(self, node)

    monkeypatch.setattr(Counting, "capacity", noted)
    return judged
