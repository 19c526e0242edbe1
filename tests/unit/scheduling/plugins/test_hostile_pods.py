"""The work per node does not grow with the length of the pod's lists. The tests count calls, not time."""

from __future__ import annotations

import gc
import sys
from types import FrameType

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.snapshot.node_list import NodeRefs
from tests.bench.cluster import node_name, plain_pod, snapshot
from tests.builders.hostile_pods import SPECS, hostile_pod

FULL = BerthConfiguration().build_profile("full")
NODES = 200
COUNT = 2_000

MOST_CALLS_PER_NODE = 100
MOST_CALLS_PER_ITEM = 20


def calls_of(pod: Pod) -> int:
    """Count the Python calls of filters and scores for all nodes, after the preparation for the pod."""
    cluster = snapshot(NODES)
    names = NodeRefs.of([node_name(index) for index in range(NODES)], cluster.positions)
    number = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal number
        number += event == "call"

    # Calls of finalizers must not be counted. Collecting the objects of other tests would take half a second.
    gc.disable()
    sys.setprofile(count)
    try:
        evaluation = Evaluation.of(FULL, pod, cluster, LocalEvaluation.of(FULL, pod, cluster))
        result = evaluation.statuses.filter_nodes(names)
        evaluation.totals(pod, result.feasible)
    finally:
        sys.setprofile(None)
        gc.enable()
    return number


def hostile(name: str) -> Pod:
    found = read_pod(hostile_pod(name, plain_pod(), COUNT))
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize("name", SPECS)
def test_work_for_a_hostile_pod_is_not_proportional_to_nodes_times_list_length(name: str) -> None:
    assert calls_of(hostile(name)) < MOST_CALLS_PER_NODE * NODES + MOST_CALLS_PER_ITEM * COUNT
