"""Karpenter's consolidation of nodes with pods that depend on Berth's rules.

The cluster has one node of a labeled pool with the pod, and one node with room that the policy rejects.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.e2e.berth.label_priority import NO_LABEL, none_available
from tests.e2e.kubernetes.cluster import Cluster, Pod

from .conftest import Start
from .karpenter import Karpenter
from .policies import LABELED, printed
from .test_provisioning import FOR_THE_LABEL

UNDERUTILIZED = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
WHEN_EMPTY = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s"}


@dataclass(frozen=True)
class Scene:
    karpenter: Karpenter
    pod: Pod
    node: str
    rejected: str


def scene(start: Start, cluster: Cluster, disruption: dict[str, str], further: dict[str, object] | None) -> Scene:
    karpenter = start(LABELED)
    karpenter.apply(*printed(LABELED, disruption=disruption))
    pod = cluster.create_pod("web", further=further, ends_at_once=True)
    node = cluster.wait_until_assigned(pod)
    return Scene(karpenter, pod, node, cluster.create_node("rejected"))


def test_consolidation_evicts_a_pod_whose_replacement_stays_pending(start: Start, cluster: Cluster) -> None:
    found = scene(start, cluster, UNDERUTILIZED, None)
    cluster.wait_until_evicted(found.pod)
    found.karpenter.wait_for_nodes(0)
    replacement = cluster.create_pod("web-2")
    found.karpenter.wait_for_event(replacement.uid, "Nominated", found.rejected)
    cluster.wait_until_unschedulable(replacement, none_available({NO_LABEL: 1}))
    assert found.karpenter.nodes() == []


@pytest.mark.parametrize(
    ("disruption", "further", "said"),
    [
        pytest.param(WHEN_EMPTY, None, "policy WhenEmpty, but node is not empty", id="WhenEmpty"),
        pytest.param(UNDERUTILIZED, FOR_THE_LABEL, "Can't replace with a cheaper node", id="affinity to the label"),
    ],
)
def test_when_empty_policy_or_an_affinity_keeps_the_node_until_the_pod_ends(
    disruption: dict[str, str], further: dict[str, object] | None, said: str, start: Start, cluster: Cluster
) -> None:
    found = scene(start, cluster, disruption, further)
    found.karpenter.wait_for_event(found.node, "Unconsolidatable", said)
    assert cluster.state(found.pod).node == found.node
    cluster.end_containers(found.pod)
    found.karpenter.wait_for_nodes(0)
