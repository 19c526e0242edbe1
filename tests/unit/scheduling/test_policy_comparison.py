"""Comparison of a new policy with the policy in force for a sample of recent pods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.policy_comparison import PolicyFailed, compare_policies, recent_pods
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.custom_plugins import PATH, failing_policy
from tests.builders.nodes import node
from tests.builders.pods import pod, pod_with

NODES = [node("a", {"old": "1"}), node("b", {"old": "2", "new": "1"}), node("c", {"new": "5"})]


def policy(label: str) -> Policy:
    config = {"name": "NodePriorityLabel", "args": {"label": label}}
    return BerthConfiguration.model_validate({"pluginConfig": [config]}).policy()


def on(name: str, started: float, unbound: Pod) -> Pod:
    return replace(unbound, uid=unbound.name, node_name=name, start_time=started)


def never() -> bool:
    return False


def test_returns_pods_that_are_evaluated_differently() -> None:
    snapshot = Snapshot.of(NODES, [pod("web")])
    found = compare_policies(policy("old"), policy("new"), snapshot, recent_pods(snapshot), never)
    assert (found.judged, found.pending, found.nodes) == (1, 1, 3)
    assert (found.fitting_before, found.fitting_after) == (1, 1)
    [change] = found.changes
    assert change.pod == "ml/web"
    assert (change.before.feasible, change.before.best) == (frozenset({"a", "b"}), "b")
    assert (change.after.feasible, change.after.best) == (frozenset({"b", "c"}), "c")
    assert change.after.rejections == {"node(s) didn't have the priority label new": 1}


def test_counts_the_pods_that_fit_before_and_after() -> None:
    snapshot = Snapshot.of(NODES, [pod("web")])
    found = compare_policies(policy("old"), policy("absent"), snapshot, recent_pods(snapshot), never)
    assert (found.fitting_before, found.fitting_after) == (1, 0)


def test_skips_pods_that_both_policies_exempt() -> None:
    snapshot = Snapshot.of(NODES, [pod("agent", namespace="kube-system")])
    assert compare_policies(policy("old"), policy("absent"), snapshot, recent_pods(snapshot), never).judged == 0


def test_skips_daemon_set_pods_on_nodes() -> None:
    """The snapshot keeps neither their affinity nor their tolerations."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d", "controller": True}
    read = read_pod({"kind": "Pod", **pod_with("agent", metadata={"ownerReferences": [owner]})})
    assert isinstance(read, Pod)
    snapshot = Snapshot.of(NODES, [on("b", 1.0, read)])
    assert compare_policies(policy("old"), policy("absent"), snapshot, recent_pods(snapshot), never).judged == 0


def only_own_node_or_free_port(label: str) -> Policy:
    plugins = [{"name": name} for name in ("NodeName", "NodePorts", "NodePriorityLabel")]
    config = {"name": "NodePriorityLabel", "args": {"label": label}}
    definition = {"plugins": {"enabled": plugins}, "pluginConfig": [config]}
    return BerthConfiguration.model_validate({"profile": "mine", "definitions": {"mine": definition}}).policy()


def test_bound_pod_does_not_count_against_itself() -> None:
    listening = pod_with("web", containers=[{"ports": [{"hostPort": 80, "containerPort": 80}]}])
    read = read_pod({"kind": "Pod", **listening})
    assert isinstance(read, Pod)
    snapshot = Snapshot.of(NODES, [on("b", 1.0, read)])
    before, after = only_own_node_or_free_port("old"), only_own_node_or_free_port("new")
    [change] = compare_policies(before, after, snapshot, recent_pods(snapshot), never).changes
    assert (change.node, change.before.best, change.after.best) == ("b", "b", "c")
    assert change.before.feasible == {"a", "b"}


def test_comparison_stops_at_the_time_limit() -> None:
    snapshot = Snapshot.of(NODES, [pod("web")])
    assert compare_policies(policy("old"), policy("new"), snapshot, recent_pods(snapshot), lambda: True).judged == 0


def test_reports_a_pod_for_which_the_new_policy_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, broken = Snapshot.of(NODES, [pod("web")]), policy("new")

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(broken, "feasibility", fail)
    with pytest.raises(PolicyFailed, match="pod ml/web: ZeroDivisionError: by zero"):
        compare_policies(policy("old"), broken, snapshot, recent_pods(snapshot), never)


def test_samples_pending_pods_first_then_the_newest_of_each_controller() -> None:
    owned = [on("a", started, pod(f"web-{started:g}", controller_kind="Job")) for started in (1.0, 3.0, 2.0)]
    snapshot = Snapshot.of(NODES, [*owned, on("b", 9.0, pod("single")), pod("waiting")])
    assert [each.name for each in recent_pods(snapshot)] == ["waiting", "single", "web-3"]
    assert [each.name for each in recent_pods(snapshot, most=1)] == ["waiting"]


def test_samples_placed_pods_even_if_many_are_pending() -> None:
    """Pending pods that neither policy places would hide that the new policy cannot place any pod."""
    pending = [replace(pod(f"pending-{number}"), uid=f"pending-{number}") for number in range(30)]
    snapshot = Snapshot.of(NODES, [*pending, *(on("a", float(number), pod(f"on-{number}")) for number in range(30))])
    names = [each.name for each in recent_pods(snapshot, most=20)]
    assert (len(names), sum(name.startswith("on-") for name in names)) == (20, 10)
    assert [each.name for each in recent_pods(Snapshot.of(NODES, pending), most=20)] == [
        each.name for each in sorted(pending, key=lambda each: each.name)[:20]
    ]


def test_rejects_policy_if_its_plugin_fails() -> None:
    snapshot = Snapshot.of(NODES, [pod("bad")])
    message = f"^pod ml/bad: plugin {PATH} failed in filter on node a: ZeroDivisionError: division by zero"
    with pytest.raises(PolicyFailed, match=message):
        compare_policies(policy("old"), failing_policy(), snapshot, recent_pods(snapshot), never)


def test_evaluates_pod_by_the_new_policy_if_the_plugin_in_force_fails() -> None:
    snapshot = Snapshot.of(NODES, [pod("bad")])
    [change] = compare_policies(failing_policy(), policy("new"), snapshot, recent_pods(snapshot), never).changes
    assert (change.before.feasible, change.after.feasible) == (frozenset(), frozenset({"b", "c"}))
    [(reason, count)] = change.before.rejections.items()
    assert (reason.startswith(f"plugin {PATH} failed in filter"), count) == (True, 3)
