"""NodeResourcesFit, score: how much of a node is left, or taken."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.plugins.node_resources_fit import NodeResourcesFit, NodeResourcesFitArgs
from tests.builders.nodes import node_with
from tests.unit.scheduling.plugins.asking import asking, other, scores

GPU = "example.com/gpu"
CPU_ONLY = [{"name": "cpu", "weight": 1}]


def score(args: dict[str, Any], pod: dict[str, Any], *placed: dict[str, Any], **allocatable: str) -> int:
    """The score of a node with this much, and these pods on it."""
    plugin = NodeResourcesFit(NodeResourcesFitArgs.model_validate({"scoringStrategy": args} if args else {}))
    return scores(plugin, pod, node_with("n", allocatable=allocatable), node_with("another"), *placed)["n"]


@pytest.mark.parametrize(
    ("pod", "placed", "wanted"),
    [
        pytest.param(asking(cpu="1", memory="2Gi"), [], 75, id="a quarter of each taken"),
        pytest.param(asking(cpu="1", memory="2Gi"), [other(cpu="1", memory="4Gi")], 37, id="includes pods on the node"),
        pytest.param(asking(cpu="4", memory="8Gi"), [], 0, id="everything is used"),
        pytest.param(asking(cpu="5", memory="2Gi"), [], 37, id="usage above capacity counts 0 for that resource"),
        pytest.param(asking(), [], 97, id="a container without requests counts 100m and 200Mi"),
        pytest.param(asking(cpu="0", memory="0"), [], 100, id="a request of 0 is kept"),
        pytest.param(asking(cpu="0", memory="0"), [other()], 97, id="pods on the node also count with defaults"),
    ],
)
def test_least_allocated_prefers_emptier_nodes(pod: dict[str, Any], placed: list[dict[str, Any]], wanted: int) -> None:
    assert score({}, pod, *placed) == wanted


@pytest.mark.parametrize(
    ("pod", "wanted"),
    [
        pytest.param(asking(cpu="1", memory="2Gi"), 25, id="a quarter of each taken"),
        pytest.param(asking(cpu="5", memory="2Gi"), 62, id="usage above capacity counts as full"),
    ],
)
def test_most_allocated_prefers_fuller_nodes(pod: dict[str, Any], wanted: int) -> None:
    assert score({"type": "MostAllocated"}, pod) == wanted


@pytest.mark.parametrize(
    ("resources", "pod", "allocatable", "wanted"),
    [
        pytest.param(
            [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}],
            asking(cpu="4", memory="0"),
            {},
            25,
            id="weights",
        ),
        pytest.param(
            [{"name": "cpu"}, {"name": "memory", "weight": 0}],
            asking(cpu="4", memory="0"),
            {},
            50,
            id="weight 1 by default",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(**{"cpu": "4", GPU: "1"}),
            {GPU: "2"},
            37,
            id="an extended resource",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(cpu="1"),
            {GPU: "2"},
            75,
            id="an unrequested extended resource is left out",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 3}],
            asking(**{"cpu": "1", GPU: "1"}),
            {},
            75,
            id="an extended resource missing on the node is left out",
        ),
        pytest.param(
            [{"name": "cpu", "weight": 1}, {"name": "ephemeral-storage", "weight": 1}],
            asking(cpu="2"),
            {"ephemeral-storage": "1Gi"},
            75,
            id="storage that the pod does not ask for is not",
        ),
    ],
)
def test_score_uses_the_resources_and_weights_of_the_arguments(
    resources: list[dict[str, Any]], pod: dict[str, Any], allocatable: dict[str, str], wanted: int
) -> None:
    assert score({"type": "LeastAllocated", "resources": resources}, pod, **allocatable) == wanted


@pytest.mark.parametrize(
    ("shape", "cpu", "wanted"),
    [
        pytest.param([(0, 0), (100, 10)], "1", 25, id="on the line"),
        pytest.param([(0, 10), (100, 0)], "1", 75, id="a falling line"),
        pytest.param([(0, 10), (3, 0)], "40m", 67, id="quotients go towards zero, where the line falls too"),
        pytest.param([(20, 3), (80, 7)], "100m", 30, id="before the first point, as there"),
        pytest.param([(20, 3), (80, 7)], "4", 70, id="after the last point, as there"),
        pytest.param([(0, 0), (50, 10), (100, 5)], "3", 75, id="between the points it is between"),
        pytest.param([(0, 0), (99, 0), (100, 10)], "5", 100, id="usage above capacity counts as full"),
        pytest.param([(0, 0), (100, 10)], "0", 0, id="nothing"),
    ],
)
def test_shape_maps_the_requested_ratio_to_the_score(shape: list[tuple[int, int]], cpu: str, wanted: int) -> None:
    points = [{"utilization": utilization, "score": points} for utilization, points in shape]
    ratio = {"type": "RequestedToCapacityRatio", "resources": CPU_ONLY, "requestedToCapacityRatio": {"shape": points}}
    assert score(ratio, asking(cpu=cpu)) == wanted


@pytest.mark.parametrize(
    ("cpu", "memory", "wanted"),
    [
        pytest.param("2", "8Gi", 75, id="the mean"),
        pytest.param("1", "4Gi", 38, id="rounded to the nearest, up from a half"),
        pytest.param("2", "0", 50, id="a resource that scores 0 is left out"),
    ],
)
def test_score_of_several_resources_is_their_weighted_mean(cpu: str, memory: str, wanted: int) -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}
    assert score(ratio, asking(cpu=cpu, memory=memory)) == wanted
