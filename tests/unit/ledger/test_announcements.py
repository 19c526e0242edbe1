"""When an announcement ends, and which verbs and plugins see an announced pod."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import PodCoverage
from berth.ledger.announcements import AnnouncementReader, BegunBind, has_ended, pod_on_node
from berth.pods import Binding
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import Pod, read_pod, read_pods
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.builders.custom_plugins import installed_plugins
from tests.builders.nodes import node
from tests.builders.pods import container, pod_object, pod_with
from tests.fakes.binding_world import ANTI_AFFINITY, APART, ZONE, World

NODES = (node("node-a"), node("node-b"))


def on(name: str) -> list[Pod]:
    """Return pod p as the cache has it: on this node, or unbound if the name is empty."""
    return read_pods([pod_object("p", node_name=name)])[0]


@pytest.mark.parametrize(
    ("pods", "seen", "withdrawn", "ends"),
    [
        pytest.param([], PodCoverage("9", 50), False, False, id="the cache has not seen the pod"),
        pytest.param([], PodCoverage("9", 500), False, False, id="the cache is far behind and has not seen the pod"),
        pytest.param([], PodCoverage("10", 50), False, True, id="the cache has seen the deleted pod"),
        pytest.param(
            on(""), PodCoverage("10", 50), False, False, id="the pod is unbound and its Binding may still arrive"
        ),
        pytest.param(on(""), PodCoverage("10", 100), False, False, id="the Binding may arrive until the deadline"),
        pytest.param(on(""), PodCoverage("10", 101), False, True, id="the Binding can no longer arrive"),
        pytest.param(on("node-a"), PodCoverage("12", 50), False, True, id="the cache shows the pod on its node"),
        pytest.param(on("node-b"), PodCoverage("12", 50), False, True, id="the pod is on another node"),
        pytest.param([], PodCoverage(), False, False, id="unknown versions"),
        pytest.param([], PodCoverage("", 101), False, True, id="unknown versions after the deadline"),
        pytest.param([], PodCoverage("9", 50), True, True, id="withdrawn"),
    ],
)
def test_announcement_ends_if_withdrawn_expired_or_shown_by_the_cache(
    pods: list[Pod], seen: PodCoverage, withdrawn: bool, ends: bool
) -> None:
    snapshot = Snapshot.of(NODES, pods)
    announced = announcement(resource_version="10", until=100, withdrawn=withdrawn)
    assert has_ended(announced, snapshot, seen) is ends


def test_announced_pod_equals_the_pod_in_the_cache_after_the_bind() -> None:
    wanted = pod_with("p", {"app": "db"}, affinity={"podAntiAffinity": {}}, tolerations=[{"operator": "Exists"}])
    placed = pod_on_node(wanted, "node-a", ())
    assert isinstance(placed, tuple)
    shown = read_pods([{**wanted, "spec": {**wanted["spec"], "nodeName": "node-a"}}])[0][0]
    assert placed[0] == shown
    assert placed[0].spec is shown.spec
    assert read_pod(wanted) != shown


def test_reader_starts_at_the_first_announcement_that_has_not_ended() -> None:
    log = InMemoryAnnouncementLog()
    for position in (1, 2, 3):
        log.append(announcement(position, f"p{position}"))
    log.withdraw(1, "attempt-1")
    reader = AnnouncementReader(log)
    found = reader.pods_to_add(reader.read()[0], Snapshot.of(NODES), PodCoverage())
    assert [pod.name for pod in found] == ["p2", "p3"]
    assert [each.position for each in reader.read()[0]] == [2, 3]


def test_reader_reads_from_the_start_of_a_new_table() -> None:
    log = InMemoryAnnouncementLog()
    log.append(announcement(1))
    reader = AnnouncementReader(log)
    reader.first = 9
    assert [each.position for each in reader.read()[0]] == [1]


@pytest.mark.parametrize(
    ("now", "announced", "counts"),
    [
        pytest.param(101.9, False, True, id="begun a moment ago"),
        pytest.param(102.0, False, False, id="begun too long ago"),
        pytest.param(100.1, True, False, id="announced meanwhile"),
    ],
)
def test_begun_bind_counts_until_its_announcement_or_expiry(now: float, announced: bool, counts: bool) -> None:
    log, bind = InMemoryAnnouncementLog(), BegunBind(announcement(1).pod.uid, "node-a", 100.0)
    log.begin(bind)
    if announced:
        log.append(announcement(1))
    assert [*AnnouncementReader(log, lambda: now).read()[1]] == ([bind] if counts else [])
    assert AnnouncementReader(log).read()[1] == ()


# Verbs see announced pods that the cache does not show, in every filter and score that reads pods.

NAMES = ["node-a", "node-b"]
DATABASES = {"matchLabels": {"app": "db"}}
OVER_ZONES = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": DATABASES}
PORT = {"containers": [{**container(), "ports": [{"containerPort": 80, "hostPort": 80}]}]}
PREFERS_APART = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 10, "podAffinityTerm": {"labelSelector": DATABASES, "topologyKey": ZONE}}
        ]
    }
}


def requesting(**requests: str) -> Mapping[str, Any]:
    return {"containers": [container(**requests)]}


def only(plugin: str, **fields: Any) -> BerthConfiguration:
    """Return a configuration whose profile has this plugin alone."""
    definition = {"plugins": {"enabled": [{"name": plugin}]}, "scores": "totals", **fields}
    return BerthConfiguration.model_validate({"profile": "one", "definitions": {"one": definition}})


def decided(world: World, name: str) -> tuple[Policy, Pod, Snapshot]:
    context, pod = world.verbs_cache.current(), read_pod(world.content(name))
    assert isinstance(context.cluster, Snapshot)
    assert isinstance(pod, Pod)
    return context.policy, pod, context.cluster


def reasons(world: World, name: str) -> Mapping[str, str]:
    policy, pod, snapshot = decided(world, name)
    found = policy.feasibility(pod, NAMES, snapshot)
    return {name: status.message for name, status in found.rejected.items()}


def scores(world: World, name: str) -> list[int]:
    policy, pod, snapshot = decided(world, name)
    return policy.scores(pod, NAMES, snapshot)


@pytest.mark.parametrize(
    ("plugin", "announced", "asks", "reason"),
    [
        pytest.param(
            "NodePorts", PORT, PORT, "node(s) didn't have free ports for the requested pod ports", id="NodePorts"
        ),
        pytest.param(
            "NodeResourcesFit", requesting(cpu="3"), requesting(cpu="2"), "Insufficient cpu", id="NodeResourcesFit"
        ),
        pytest.param(
            "PodTopologySpread",
            {},
            {"topologySpreadConstraints": [{**OVER_ZONES, "whenUnsatisfiable": "DoNotSchedule"}]},
            "node(s) didn't match pod topology spread constraints",
            id="PodTopologySpread",
        ),
        pytest.param("InterPodAffinity", {}, {"affinity": APART}, ANTI_AFFINITY, id="InterPodAffinity"),
        pytest.param(
            "InterPodAffinity",
            {"affinity": APART},
            {},
            "node(s) didn't satisfy existing pods anti-affinity rules",
            id="InterPodAffinity of the announced pod",
        ),
    ],
)
def test_filter_of_each_plugin_sees_an_announced_pod(
    plugin: str, announced: Mapping[str, Any], asks: Mapping[str, Any], reason: str
) -> None:
    world = World(only(plugin))
    world.specs = {"p": announced, "q": asks}
    assert reasons(world, "q") == {}
    world.bind("p")
    assert reasons(world, "q") == {"node-a": reason}
    assert world.bind("q") == BindResult(BindOutcome.REJECTED, reason)
    assert world.bind("q", on="node-b").outcome is BindOutcome.BOUND


@pytest.mark.parametrize(
    ("plugin", "announced", "asks", "best"),
    [
        pytest.param(
            "NodeResourcesFit",
            requesting(cpu="2"),
            requesting(cpu="1", memory="1Gi"),
            "node-b",
            id="NodeResourcesFit: away from it",
        ),
        pytest.param(
            "NodeResourcesBalancedAllocation",
            requesting(cpu="2"),
            requesting(memory="4Gi"),
            "node-a",
            id="NodeResourcesBalancedAllocation: memory balances its cpu",
        ),
        pytest.param(
            "PodTopologySpread",
            {},
            {"topologySpreadConstraints": [{**OVER_ZONES, "whenUnsatisfiable": "ScheduleAnyway"}]},
            "node-b",
            id="PodTopologySpread: another zone",
        ),
        pytest.param(
            "InterPodAffinity", {}, {"affinity": PREFERS_APART}, "node-b", id="InterPodAffinity: away from it"
        ),
        pytest.param(
            "InterPodAffinity",
            {"affinity": PREFERS_APART},
            {},
            "node-b",
            id="InterPodAffinity: away from it, as the announced pod prefers",
        ),
    ],
)
def test_score_of_each_plugin_sees_an_announced_pod(
    plugin: str, announced: Mapping[str, Any], asks: Mapping[str, Any], best: str
) -> None:
    world = World(only(plugin))
    world.specs = {"p": announced, "q": asks}
    before = scores(world, "q")
    assert before[0] == before[1]
    world.bind("p")
    after = dict(zip(NAMES, scores(world, "q"), strict=True))
    assert after.pop(best) > max(after.values())
    assert world.bind("q").outcome is BindOutcome.BOUND  # no filter rejects the node


SOFT_RULE = """
from berth.scheduling.framework import ScorePlugin

class PrefersToBeAlone(ScorePlugin):
    def score(self, pod, node):
        return 0 if any(other.labels.get("app") == pod.labels.get("app") for other in node.pods) else 100
"""


def test_custom_scoring_plugin_sees_an_announced_pod(tmp_path: Path) -> None:
    """The profile contains only this plugin, so neither a filter nor a cluster-wide plugin."""
    (tmp_path / "berth_plugins").mkdir()
    (tmp_path / "berth_plugins" / "soft.py").write_text(SOFT_RULE)
    with installed_plugins(tmp_path):
        world = World(only("berth_plugins.soft:PrefersToBeAlone"))
        assert scores(world, "q") == [100, 100]
        world.bind("p")
        assert scores(world, "q") == [0, 100]
        policy, pod, snapshot = decided(world, "q")
        assert policy.best(pod, NAMES, snapshot).feasible == ["node-b"]
        by_plugin = policy.scores_by_plugin(pod, NAMES, snapshot)
        assert {node: sum(found.values()) for node, found in by_plugin.items()} == {"node-a": 0, "node-b": 100}


def test_verbs_in_the_same_process_see_a_pod_before_its_announcement() -> None:
    world = World(only("InterPodAffinity"))
    p, q = read_pod(world.content("p")), read_pod(world.content("q"))
    assert isinstance(p, Pod)
    assert isinstance(q, Pod)
    world.verbs_cache.asked_about(p)
    world.verbs_cache.asked_about(q)
    with world.begun.begun(Binding("default", "p", p.uid, "node-a")):
        assert reasons(world, "q") == {"node-a": ANTI_AFFINITY}
        # bind counts announced pods only: otherwise two concurrent binds would reject each other.
        with world.begun.begun(Binding("default", "q", q.uid, "node-a")):
            assert world.bind("q").outcome is BindOutcome.BOUND
    assert reasons(world, "p") == {"node-a": ANTI_AFFINITY}


def test_pod_does_not_see_its_own_announcement() -> None:
    world = World(only("NodeResourcesFit"))
    world.specs = {"p": requesting(cpu="3")}
    before = scores(world, "p")
    world.bind("p")
    assert (scores(world, "p"), reasons(world, "p")) == (before, {})


@pytest.mark.parametrize(
    ("namespace", "spec"),
    [
        pytest.param("default", {"schedulerName": "batch"}, id="a scheduler with a profile without rules about pods"),
        pytest.param("kube-system", {}, id="an exempt pod"),
    ],
)
def test_pod_without_rules_is_announced_for_the_rules_of_other_pods(namespace: str, spec: Mapping[str, Any]) -> None:
    """Rules of other profiles may depend on the pod."""
    configuration = {"profile": "full", "profiles": {"batch": "label-priority"}}
    world = World(BerthConfiguration.model_validate(configuration))
    terms = {"labelSelector": DATABASES, "topologyKey": ZONE, "namespaceSelector": {}}
    required = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [terms]}}
    world.specs = {"p": spec, "q": {"affinity": required}}
    assert world.bind("p", namespace=namespace).outcome is BindOutcome.BOUND
    assert world.announced() == [(1, "p", False)]
    assert reasons(world, "q") == {"node-a": ANTI_AFFINITY}
    assert world.bind("q") == BindResult(BindOutcome.REJECTED, ANTI_AFFINITY)
