"""A profile applied to the names of one request."""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from typing import Any

import pytest

from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE
from berth.scheduling.feasibility import Exemption, Unresolvable
from berth.scheduling.framework.plugin import (
    SUCCESS,
    Code,
    FilterPlugin,
    ScorePlugin,
    Status,
    unresolvable,
    unschedulable,
)
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.counted import asking, configuration, counted_node
from tests.builders.nodes import node
from tests.builders.pods import pod, pod_object

FIRST = unschedulable("First", "the first said no")
SECOND = unresolvable("Second", "the second said no")


class Forbids(FilterPlugin):
    """Rejects the nodes that have the label."""

    def __init__(self, label: str, status: Status) -> None:
        self.name, self._label, self._status = status.plugin, label, status
        self.asked: list[str] = []

    def filter(self, pod: Pod, node: NodeInfo) -> Status:
        self.asked.append(node.name)
        return self._status if self._label in node.labels else SUCCESS

    def shape(self, pod: Pod) -> Hashable:
        return ()


class Counts(ScorePlugin):
    """Scores a node with the number in its label."""

    def __init__(self, label: str) -> None:
        self.name, self._label = f"Counts-{label}", label
        self.asked: list[str] = []

    def score(self, pod: Pod, node: NodeInfo) -> int:
        self.asked.append(node.name)
        return int(node.labels.get(self._label, "0"))

    def shape(self, pod: Pod) -> Hashable:
        return ()


def policy(*filters: FilterPlugin, scores: tuple[tuple[ScorePlugin, int], ...] = ()) -> Policy:
    return Policy(Profile("test", filters, scores), Exemption())


def test_first_rejecting_plugin_determines_the_reason() -> None:
    first, second = Forbids("x", FIRST), Forbids("y", SECOND)
    snapshot = Snapshot.of([node("both", {"x": "", "y": ""}), node("second", {"y": ""}), node("neither")])
    found = policy(first, second).feasibility(pod(), ["both", "second", "neither"], snapshot)
    assert found.feasible == ["neither"]
    assert found.rejected == {"both": FIRST, "second": SECOND}
    assert second.asked == ["second", "neither"]


def test_names_keep_the_order_of_the_request() -> None:
    snapshot = Snapshot.of([node("a"), node("b"), node("c")])
    assert policy().feasibility(pod(), ["c", "a", "b"], snapshot).feasible == ["c", "a", "b"]


def test_rejects_name_that_is_not_in_the_snapshot() -> None:
    found = policy().feasibility(pod(), ["new"], Snapshot.of([]))
    assert found.rejected == {"new": NOT_IN_CACHE}


def test_rejects_defective_node_before_any_plugin() -> None:
    plugin = Forbids("x", FIRST)
    found = policy(plugin).feasibility(pod(), ["odd"], Snapshot.of([node("odd", defect="it is odd")]))
    assert found.rejected["odd"].code is Code.ERROR
    assert found.rejected["odd"].message == "it is odd"
    assert plugin.asked == []


def test_score_is_the_sum_of_weighted_scores() -> None:
    decides = policy(scores=((Counts("a"), 2), (Counts("b"), 1)))
    snapshot = Snapshot.of([node("n", {"a": "3", "b": "-10"}), node("none")])
    assert decides.scores(pod(), ["n", "none"], snapshot) == [-4, 0]


def test_infeasible_nodes_score_0_without_a_plugin_call() -> None:
    scorer = Counts("a")
    decides = policy(Forbids("x", FIRST), scores=((scorer, 1),))
    snapshot = Snapshot.of([node("no", {"x": "", "a": "9"}), node("yes", {"a": "5"})])
    assert decides.scores(pod(), ["no", "yes", "new"], snapshot) == [0, 5, 0]
    assert scorer.asked == ["yes"]


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        pytest.param({"a": "1", "b": "2"}, "b", id="the highest score"),
        pytest.param({"a": "-1", "b": "-2"}, "a", id="the highest of negative scores"),
        pytest.param({"b": "2", "a": "2", "c": "2"}, "a", id="equal scores are resolved by name"),
        pytest.param({"n10": "2", "n9": "2"}, "n10", id="names are compared as strings"),
    ],
)
def test_best_returns_the_highest_scored_node(labels: dict[str, str], chosen: str) -> None:
    snapshot = Snapshot.of([node(name, {"s": value}) for name, value in labels.items()])
    found = policy(scores=((Counts("s"), 1),)).best(pod(), list(labels), snapshot)
    assert found.feasible == [chosen]
    assert found.rejected == {}


def test_best_node_is_feasible_and_rejected_nodes_keep_their_reasons() -> None:
    decides = policy(Forbids("x", FIRST), scores=((Counts("s"), 1),))
    snapshot = Snapshot.of([node("a", {"x": "", "s": "9"}), node("b", {"s": "1"})])
    found = decides.best(pod(), ["a", "b"], snapshot)
    assert (found.feasible, found.rejected) == (["b"], {"a": FIRST})


def test_best_returns_none_if_every_node_is_rejected() -> None:
    found = policy(Forbids("x", FIRST)).best(pod(), ["a"], Snapshot.of([node("a", {"x": ""})]))
    assert (found.feasible, found.rejected) == ([], {"a": FIRST})


def test_exempt_pod_passes_every_name_and_scores_0() -> None:
    plugin, scorer = Forbids("x", FIRST), Counts("s")
    decides = policy(plugin, scores=((scorer, 1),))
    snapshot = Snapshot.of([node("a", {"x": "", "s": "9"})])
    agent = pod(namespace="kube-system")
    for found in (decides.feasibility(agent, ["a", "new"], snapshot), decides.best(agent, ["a", "new"], snapshot)):
        assert (found.feasible, found.rejected, found.exempt) == (["a", "new"], {}, True)
    assert decides.scores(agent, ["a", "new"], snapshot) == [0, 0]
    assert plugin.asked == scorer.asked == []


def test_plugin_that_applies_to_exempt_pods_filters_them() -> None:
    always, other = Forbids("x", FIRST), Forbids("x", SECOND)
    always.applies_to_exempt_pods = True  # type: ignore[misc]
    snapshot, agent = Snapshot.of([node("a", {"x": ""}), node("b")]), pod(namespace="kube-system")
    decides = policy(other, always)
    for found in (decides.feasibility(agent, ["a", "b"], snapshot), decides.best(agent, ["a", "b"], snapshot)):
        assert (found.feasible, found.rejected, found.exempt) == (["b"], {"a": FIRST}, False)
    assert not decides.exempts(agent)
    assert other.asked == []


def resolvable(decides: Policy, snapshot: Snapshot) -> set[str]:
    """Return the nodes in FailedNodes. Every other rejected node is in FailedAndUnresolvableNodes."""
    found = decides.feasibility(pod(), list(snapshot.nodes), snapshot)
    assert found.failed.keys().isdisjoint(found.unresolvable)
    assert found.rejected == {**found.failed, **found.unresolvable}
    assert decides.resolvable(pod(), found.rejected, snapshot) == found.failed.keys()
    return set(found.failed)


def test_every_rejected_node_is_unresolvable_by_default() -> None:
    snapshot = Snapshot.of([node("full", {"full": ""}), node("never", {"never": ""}), node("fits")])
    assert resolvable(policy(Forbids("full", FIRST), Forbids("never", SECOND)), snapshot) == set()


def test_as_plugins_say_returns_the_codes_of_the_plugins() -> None:
    filters = Forbids("full", FIRST), Forbids("never", SECOND)
    decides = Policy(Profile("test", filters, ()), Exemption(), unresolvable=Unresolvable.AS_PLUGINS_SAY)
    snapshot = Snapshot.of([node("full", {"full": ""}), node("never", {"never": ""}), node("odd", defect="odd")])
    assert resolvable(decides, snapshot) == {"full"}


@pytest.mark.parametrize(
    ("asks", "feasible", "exempt"),
    [
        pytest.param(asking(namespace="kube-system"), ["full", "free"], True, id="no counted request: the pod passes"),
        pytest.param(asking(namespace="kube-system", licence="1"), ["free"], False, id="counted: the node needs it"),
        pytest.param(asking(licence="1"), ["free"], False, id="a pod that is not exempt"),
    ],
)
def test_filters_exempt_pod_by_counted_resources(asks: Pod, feasible: list[str], exempt: bool) -> None:
    found = configuration().policy()
    nodes = [counted_node("full", "1"), counted_node("free", "1")]
    snapshot = Snapshot.of(nodes, [asking("holds", "full", licence="1")])
    decision = found.feasibility(asks, ["full", "free"], snapshot)
    assert (decision.feasible, decision.exempt) == (feasible, exempt)
    assert found.exempts(asks) is exempt
    assert found.best(asks, ["full", "free"], snapshot).feasible == feasible


def test_profile_without_counting_passes_exempt_pods() -> None:
    found = configuration(profile="label-priority").policy()
    assert found.exempts(asking(namespace="kube-system", licence="1"))


def test_nodes_where_preemption_may_help_are_sorted_by_name() -> None:
    names = [f"n{number}" for number in range(9)]
    snapshot = Snapshot.of([node(name, {"full": ""}) for name in names])
    decides = Policy(
        Profile("test", (Forbids("full", FIRST),), ()), Exemption(), unresolvable=Unresolvable.AS_PLUGINS_SAY
    )
    found = decides.feasibility(pod(), names[::-1], snapshot)
    assert list(found.failed.items()) == [(name, FIRST) for name in names]


NONE = Exemption(daemonSets=False, systemCritical=False, namespaces=frozenset())


@pytest.mark.parametrize(
    ("candidate", "exempt"),
    [
        pytest.param(pod(), False, id="an ordinary pod"),
        pytest.param(pod(namespace="kube-system"), True, id="in kube-system"),
        pytest.param(pod(namespace="kube-system-2"), False, id="in a namespace of a similar name"),
        pytest.param(pod(controller_kind="DaemonSet"), True, id="of a DaemonSet"),
        pytest.param(pod(controller_kind="ReplicaSet"), False, id="of a ReplicaSet"),
        pytest.param(pod(priority=2_000_000_000), True, id="system-cluster-critical"),
        pytest.param(pod(priority=2_000_001_000), True, id="system-node-critical"),
        pytest.param(pod(priority=1_999_999_999), False, id="just below system-cluster-critical"),
        pytest.param(pod(priority=1_000_000_000), False, id="the highest priority of users"),
        pytest.param(pod(priority=-1), False, id="below zero"),
    ],
)
def test_exempts_system_pods_by_default(candidate: Pod, exempt: bool) -> None:
    assert Exemption().covers(candidate) is exempt


@pytest.mark.parametrize(
    "candidate", [pod(namespace="kube-system"), pod(controller_kind="DaemonSet"), pod(priority=2_000_000_000)]
)
def test_each_exemption_can_be_disabled(candidate: Pod) -> None:
    assert NONE.covers(candidate) is False


def test_exempts_only_the_configured_namespaces() -> None:
    exemption = Exemption(namespaces=frozenset({"infra"}))
    assert exemption.covers(pod(namespace="infra")) is True
    assert exemption.covers(pod(namespace="kube-system")) is False


def without(change: str) -> dict[str, Any]:
    """Return a pod of a DaemonSet that lacks, or changes, one field that the DaemonSet controller sets."""
    obj: dict[str, Any] = deepcopy(pod_object(controller_kind="DaemonSet"))
    owner, spec = obj["metadata"]["ownerReferences"][0], obj["spec"]
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    term = required["nodeSelectorTerms"][0]
    match change:
        case "API group":
            owner["apiVersion"] = "example.com/v1"
        case "version":
            del owner["apiVersion"]
        case "control":
            owner["controller"] = False
        case "affinity":
            del spec["affinity"]
        case "one name":
            required["nodeSelectorTerms"].append(deepcopy(term))
            term["matchFields"][0]["values"] = ["node-2"]
        case "name":
            required["nodeSelectorTerms"] = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
        case "toleration":
            del spec["tolerations"][-1]
        case _:
            raise AssertionError(change)
    return obj


@pytest.mark.parametrize("missing", ["API group", "version", "control", "affinity", "one name", "name", "toleration"])
def test_does_not_exempt_a_pod_that_the_daemon_set_controller_did_not_create(missing: str) -> None:
    found = read_pod(without(missing))
    assert isinstance(found, Pod)
    assert Exemption().covers(found) is False


def test_exempts_a_daemon_set_pod_that_tolerates_everything() -> None:
    obj: dict[str, Any] = deepcopy(pod_object(controller_kind="DaemonSet"))
    obj["spec"]["tolerations"] = [{"operator": "Exists"}]
    found = read_pod(obj)
    assert isinstance(found, Pod)
    assert Exemption().covers(found) is True
