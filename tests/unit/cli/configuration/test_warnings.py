"""Warnings about valid documents: settings without effect, and problems with the nodes and pods of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.configuration.warnings import cluster_warnings, configuration_warnings, serve_warnings
from tests.builders.nodes import node
from tests.builders.pods import pod_with

LICENCES = {"name": "example.com/licence", "capacity": {"nodeLabel": "example.com/licences"}}


def configuration(**fields: object) -> BerthConfiguration:
    return BerthConfiguration.model_validate(fields)


@pytest.mark.parametrize(
    ("document", "warnings"),
    [
        pytest.param({}, [], id="the default"),
        pytest.param({"profile": "managed-resources", "managedResources": [LICENCES]}, [], id="counted and checked"),
        pytest.param(
            {"managedResources": [LICENCES]},
            ["managedResources: profile label-priority has no plugin ManagedResources"],
            id="counted and not checked",
        ),
        pytest.param(
            {"profile": "full", "nodeCache": {"whenStale": "pass"}},
            [
                "profile: profile full has rules that depend on other pods (",
                "nodeCache.whenStale: while the cache is stale, rules that depend on other pods are best effort",
            ],
            id="rules about other pods, and a stale cache that passes",
        ),
        pytest.param(
            {"profile": "managed-resources"},
            ["profile: profile managed-resources counts managedResources, and there are none"],
            id="checked and not counted",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodePriorityLabel"}, {"name": "ResourceSegregation"}]},
            ["pluginConfig[1]: no profile in use has the plugin ResourceSegregation: these have no effect"],
            id="arguments for a plugin that no profile uses",
        ),
        pytest.param(
            {
                "profile": "mine",
                "pluginConfig": [{"name": "NodePriorityLabel"}],
                "definitions": {"mine": {"extends": "label-priority", "pluginConfig": [{"name": "NodePriorityLabel"}]}},
            },
            ["pluginConfig[0]: these arguments have no effect: each profile with NodePriorityLabel"],
            id="arguments that the only profile replaces",
        ),
        pytest.param(
            {"definitions": {"mine": {"extends": "label-priority"}}},
            ["definitions.mine: no scheduler uses this profile"],
            id="an unused profile",
        ),
        pytest.param(
            {
                "profile": "mine",
                "definitions": {"mine": {"plugins": {"enabled": [{"name": "NodeReady", "weight": 5}]}}},
            },
            ["definitions.mine.plugins.enabled[0].weight: NodeReady only filters"],
            id="a weight for a plugin that only filters",
        ),
        pytest.param(
            {"unresolvable": "as-plugins-say"},
            ["unresolvable: kube-scheduler 1.34 to 1.37 retries a pending pod without end"],
            id="retries without end",
        ),
        pytest.param(
            {
                "profile": "managed-resources",
                "managedResources": [
                    {"name": "example.com/x", "ignoredByScheduler": False, "capacity": {"nodeLabel": "a"}}
                ],
            },
            ["managedResources[0].ignoredByScheduler: false: kube-scheduler counts example.com/x too"],
            id="a resource that kube-scheduler does not find",
        ),
        pytest.param(
            {"profiles": {"batch": "full"}, "bind": {"namespaces": ["ml"]}},
            [
                "profiles.batch: profile full has rules that depend on other pods (",
                "bind: bind does not cover all pods: rules that depend on other pods are best effort",
            ],
            id="namespaces that bind refuses",
        ),
    ],
)
def test_warns_about_settings_that_have_no_effect(document: dict[str, object], warnings: list[str]) -> None:
    found = [str(each) for each in configuration_warnings(configuration(**document))]
    assert [each[: len(start)] for each, start in zip(found, warnings, strict=True)] == warnings


@pytest.mark.parametrize(
    ("decisions", "has_file", "warnings"),
    [
        ("file", False, ["decisions: nothing is recorded: file needs --decisions-file of berth serve"]),
        ("table", False, ["decisions: nothing is recorded: table needs --store dynamodb, or a stack"]),
        ("memory", True, ["--decisions-file: nothing is written there without decisions: file in the configuration"]),
        ("file", True, []),
    ],
)
def test_serve_warns_that_decisions_are_not_recorded(decisions: str, has_file: bool, warnings: list[str]) -> None:
    document = configuration(decisions=decisions)
    assert [*map(str, serve_warnings(document, schedulers=[], has_file=has_file, has_table=False))] == warnings


def test_serve_warns_about_profiles_of_schedulers_that_bind_refuses() -> None:
    document = configuration(profiles={"batch": "label-priority", "gpu": "label-priority"})
    found = serve_warnings(document, schedulers=["gpu"], has_file=False, has_table=False)
    assert [str(each) for each in found] == [
        "profiles.batch: bind refuses the pods of this scheduler: give --scheduler-name batch"
    ]


@pytest.mark.parametrize(
    ("nodes", "warnings"),
    [
        pytest.param([node("a", labels={"example.com/licences": "3"}), node("b")], [], id="on one node"),
        pytest.param(
            [node("a"), node("b", labels={"example.com/licences": "0"})],
            [
                "managedResources[0]: none of 2 nodes has capacity for example.com/licence, by capacity or devices: "
                "pods that request it stay pending"
            ],
            id="on no node",
        ),
    ],
)
def test_warns_about_a_counted_resource_without_capacity(nodes: list[NodeInfo], warnings: list[str]) -> None:
    found = cluster_warnings(configuration(managedResources=[LICENCES], profile="full"), Snapshot.of(nodes, []))
    assert [str(each) for each in found] == warnings


SEAT = "example.com/seat"
IN_CLUSTER = {"capacity": {"value": 12, "scope": "cluster"}}
BY_ZONE = {"capacity": {"value": 12, "scope": "zone"}}
ANNOTATED = {"requests": {"podAnnotation": "seats"}}


@pytest.mark.parametrize(
    ("resource", "nodes", "requests", "warnings"),
    [
        pytest.param(IN_CLUSTER, [node("a")], {}, [], id="a pool of the cluster needs no node"),
        pytest.param(BY_ZONE, [node("a"), node("b", labels={"zone": "x"})], {}, [], id="a label that one node has"),
        pytest.param(
            BY_ZONE,
            [node("a"), node("b")],
            {},
            [f"none of 2 nodes has the label zone: pods that request {SEAT} stay pending"],
            id="a label that no node has",
        ),
        pytest.param(
            IN_CLUSTER,
            [node("a"), NodeInfo("b", {}, allocatable={SEAT: 4})],
            {},
            [f"node b has {SEAT} in its allocatable, which does not count: capacity is a constant"],
            id="a resource that a node has, too",
        ),
        pytest.param(
            IN_CLUSTER,
            [node("a")],
            {SEAT: "1"},
            [
                f"containers of pods request {SEAT}, so autoscalers add no node for these pods (Karpenter: no instance "
                "type has enough resources); let them request it by an annotation: requests: {podAnnotation: …}"
            ],
            id="a pod that requests it in a container",
        ),
        pytest.param({**IN_CLUSTER, **ANNOTATED}, [node("a")], {SEAT: "1"}, [], id="requests by annotation"),
        pytest.param({}, [NodeInfo("a", {}, allocatable={SEAT: 4})], {SEAT: "1"}, [], id="a resource of nodes"),
    ],
)
@pytest.mark.parametrize("on", ["", "a"])
def test_warns_about_each_problem_of_a_floating_resource(
    resource: dict[str, Any], nodes: list[NodeInfo], requests: dict[str, str], warnings: list[str], on: str
) -> None:
    found = read_pod(pod_with("p", requests=requests, nodeName=on))
    assert isinstance(found, Pod)
    document = configuration(managedResources=[{"name": SEAT, **resource}], profile="managed-resources")
    assert [str(each) for each in cluster_warnings(document, Snapshot.of(nodes, [found]))] == [
        f"managedResources[0]: {text}" for text in warnings
    ]


@pytest.mark.parametrize(
    ("labels", "warnings"),
    [
        pytest.param({"priority.lixueduan.com": "10"}, [], id="one node has the label"),
        pytest.param({}, ["profile: profile label-priority rejects all 2 nodes: none has the label"], id="on no node"),
    ],
)
def test_warns_about_a_priority_label_missing_on_every_node(labels: dict[str, str], warnings: list[str]) -> None:
    cluster = Snapshot.of([node("a", labels=labels), node("b")], [])
    found = [str(each) for each in cluster_warnings(configuration(profile="label-priority"), cluster)]
    assert [each[: len(start)] for each, start in zip(found, warnings, strict=True)] == warnings


@pytest.mark.parametrize(
    ("metadata", "warnings"),
    [
        pytest.param({"annotations": {"berth.dev/gang": "g", "berth.dev/gang-size": "2"}}, [], id="a member"),
        pytest.param(
            {"labels": {"berth.dev/gang": "g"}},
            ["gangs: pod default/p has berth.dev/gang as a label: Berth reads the annotation of that name"],
            id="only a label",
        ),
        pytest.param(
            {"annotations": {"berth.dev/gang-size": "2"}},
            ["gangs: pod default/p has berth.dev/gang-size and names no gang: add berth.dev/gang"],
            id="only a size",
        ),
    ],
)
def test_warns_about_pods_with_incomplete_gang_annotations(metadata: dict[str, object], warnings: list[str]) -> None:
    waiting = read_pod(pod_with("p", metadata=metadata))
    assert isinstance(waiting, Pod)
    found = cluster_warnings(configuration(profile="full", gangs={"enabled": True}), Snapshot.of([], [waiting]))
    assert [str(each) for each in found] == warnings
