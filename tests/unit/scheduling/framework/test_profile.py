"""Profiles: the parts of the cluster's state that plugins declare to read, and the parts that they do read."""

from __future__ import annotations

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import (
    SUCCESS,
    ClusterScorePlugin,
    Plugin,
    ScorePlugin,
    Status,
    error_status,
    unresolvable,
)
from berth.scheduling.framework.profile import LocalFilters, Scale
from berth.scheduling.framework.shipped_profiles import SHIPPED, build
from berth.scheduling.objects import NodeInfo, Pod, read_pod
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS
from berth.scheduling.policy import Policy
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import ALL_PARTS, NODES_AND_PODS, NODES_ONLY, Parts, SnapshotPart
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.bench import cluster
from tests.builders.nodes import node

NODES = 40
REJECTED, OUTSIDE = (
    unresolvable("P", reason, reason_code=ReasonCode.NODE_NOT_SELECTED) for reason in ("rejected", "outside")
)


def _policy(plugin: str) -> Policy:
    return BerthConfiguration.model_validate(
        {"profile": "one", "definitions": {"one": {"plugins": {"enabled": [{"name": plugin}]}}}}
    ).policy()


@pytest.mark.parametrize(
    ("profile", "parts"),
    [
        ("label-priority", NODES_ONLY),
        ("resource-segregation", NODES_ONLY),
        ("managed-resources", NODES_AND_PODS),
        ("full", ALL_PARTS),
    ],
)
def test_shipped_profile_reads_the_expected_parts(profile: str, parts: Parts) -> None:
    assert BerthConfiguration(profile=profile).policy().reads == parts
    assert profile in SHIPPED


@pytest.mark.parametrize("plugin", [name for name in SHIPPED_PLUGINS if _policy(name).reads != ALL_PARTS])
def test_plugin_decides_the_same_without_parts_that_it_does_not_read(plugin: str) -> None:
    policy, whole = _policy(plugin), cluster.snapshot(NODES)
    loaded = _loaded(whole, policy.reads)
    names = list(whole.nodes)
    assert any(node.pods for node in whole.nodes.values())
    for index in range(8):
        pod = read_pod(cluster.pod_manifest(index))
        assert isinstance(pod, Pod)
        expected = policy.feasibility(pod, names, whole)
        found = policy.feasibility(pod, names, loaded)
        assert (found.feasible, dict(found.rejected)) == (expected.feasible, dict(expected.rejected))
        assert policy.scores(pod, names, loaded) == policy.scores(pod, names, whole)


def _loaded(whole: Snapshot, parts: Parts) -> Snapshot:
    if parts == ALL_PARTS:
        return whole
    pods = [pod for node in whole.nodes.values() for pod in node.pods]
    return Snapshot.of(
        (node.with_pods(()) for node in whole.nodes.values()), pods if SnapshotPart.PODS in parts else ()
    )


@pytest.mark.parametrize(
    ("plugin", "depends", "judges"),
    [
        pytest.param("NodeResourcesFit", True, True, id="a filter and a score of one node"),
        pytest.param("NodePorts", True, True, id="a filter of one node"),
        pytest.param("InterPodAffinity", True, True, id="a filter and a score of all nodes"),
        pytest.param("NodeResourcesBalancedAllocation", True, False, id="a score of one node"),
        pytest.param("ManagedResources", False, False, id="a filter of counted resources"),
        pytest.param("ImageLocality", False, False, id="a score that reads only the node"),
        pytest.param("NodePriorityLabel", False, False, id="a filter and a score that read only the node"),
    ],
)
def test_binds_are_rechecked_only_if_a_filter_depends_on_other_pods(plugin: str, depends: bool, judges: bool) -> None:
    policy = _policy(plugin)
    assert (policy.reads_other_pods, policy.judges_binds) == (depends, judges)


class PrefersEmptyNodes(ScorePlugin):
    name = "PrefersEmptyNodes"

    def score(self, state: Pod, node: NodeInfo) -> int:
        return 0 if node.pods else 100


class CountsNodes(ClusterScorePlugin):
    name = "CountsNodes"
    reads = NODES_ONLY

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> None:
        return None


@pytest.mark.parametrize(
    ("plugin", "depends"),
    [
        pytest.param(PrefersEmptyNodes(), True, id="without `reads` it may read pods"),
        pytest.param(CountsNodes(), False, id="it reads all nodes and no pods"),
    ],
)
def test_custom_score_depends_on_other_pods_unless_it_reads_only_nodes(plugin: Plugin, depends: bool) -> None:
    profile = build("mine", Scale.TOTALS, [(plugin, 1)])
    assert profile.reads_other_pods is depends
    assert profile.for_bind().filters == ()


@pytest.mark.parametrize(
    ("filters", "on", "nominated"),
    [
        pytest.param(LocalFilters(), SUCCESS, SUCCESS, id="no filter"),
        pytest.param(LocalFilters(node_names=frozenset({"n"}), outside=OUTSIDE), SUCCESS, SUCCESS, id="a named node"),
        pytest.param(LocalFilters(node_names=frozenset(), outside=OUTSIDE), OUTSIDE, SUCCESS, id="not a named node"),
        pytest.param(
            LocalFilters(rejected=REJECTED, node_names=frozenset(), outside=OUTSIDE),
            REJECTED,
            REJECTED,
            id="rejected on every node",
        ),
        pytest.param(
            LocalFilters(((lambda *_: SUCCESS, None), (lambda *_: REJECTED, None), (lambda *_: OUTSIDE, None))),
            REJECTED,
            REJECTED,
            id="the first filter that rejects",
        ),
    ],
)
def test_nominated_node_skips_only_the_check_of_names(filters: LocalFilters, on: Status, nominated: Status) -> None:
    assert (filters.filter(node("n")), filters.filter_nominated(node("n"))) == (on, nominated)
    defect = filters.filter_nominated(node("n", defect="d"))
    assert defect == (REJECTED if filters.rejected else error_status("", "d", reason_code=ReasonCode.NODE_UNREADABLE))
