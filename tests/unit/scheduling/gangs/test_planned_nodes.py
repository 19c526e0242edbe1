"""Results for nodes with planned members: kept while the node and the member fields that plugins read are the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework.plugin import SUCCESS, FilterPlugin, ScorePlugin, Status, unschedulable
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import NodeInfo, Pod, label_set
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.parts import NODES_ONLY, SnapshotPart
from tests.builders.gangs import ENABLED, members
from tests.builders.planned import CPU, answers, cluster, counts, places, room_for

TRAIN = members("train", 4, requests=CPU)


class Judging(FilterPlugin[Pod]):
    """Records the nodes that it filters. It reads only nodes."""

    name = "Judging"
    reads = NODES_ONLY

    def __init__(self) -> None:
        self.judged: list[tuple[str, int]] = []

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        self.judged.append((node.name, len(node.pods)))
        return SUCCESS


class Apart(FilterPlugin[Pod]):
    """Rejects nodes with a pod that has a certain label."""

    name = "Apart"

    def shape(self, pod: Pod) -> Hashable:
        return pod.spec

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return unschedulable(self.name, "taken") if any("apart" in pod.labels for pod in node.pods) else SUCCESS


def policy_of(plugin: FilterPlugin[Pod]) -> Policy:
    return Policy(Profile("test", (plugin,), ()), Exemption(), gangs=ENABLED)


def labelled(pods: Iterable[Pod], **labels: str) -> list[Pod]:
    return [replace(pod, label_set=label_set("ml", labels)) for pod in pods]


def test_nodes_that_did_not_change_are_not_filtered_again() -> None:
    plugin = Judging()
    policy, before = policy_of(plugin), cluster(9, 9, pods=TRAIN)
    answers(policy, before, TRAIN)
    plugin.judged.clear()
    answers(policy, before.with_changes(Changes(nodes=[room_for("n0", 8)])), TRAIN)
    assert {name for name, _ in plugin.judged} == {"n0"}
    assert ("n0", 3) in plugin.judged


def test_custom_plugin_sees_the_labels_of_planned_members() -> None:
    """Only the members' labels change, which shipped plugins do not read from the pods on a single node."""
    policy, apart, together = policy_of(Apart()), labelled(TRAIN, apart=""), labelled(TRAIN)
    before = cluster(9, 9, 9, 9, pods=apart)
    assert counts(places(answers(policy, before, apart))) == {"n0": 1, "n1": 1, "n2": 1, "n3": 1}
    assert counts(places(answers(policy, before.with_changes(Changes(pods=together)), together))) == {"n0": 4}


def test_shipped_plugins_read_only_spec_and_counted_resources_of_the_pods_on_a_node() -> None:
    """Members with equal specs and demands share results. A plugin that reads more fields would get wrong results."""
    found = set()
    for name in SHIPPED_PLUGINS:
        plugin = shipped_plugin(name).plugin
        assert isinstance(plugin, type)
        if issubclass(plugin, FilterPlugin | ScorePlugin) and SnapshotPart.PODS in plugin.reads:
            found.add(name)
    assert found == {"NodePorts", "NodeResourcesFit", "NodeResourcesBalancedAllocation", "ManagedResources"}
