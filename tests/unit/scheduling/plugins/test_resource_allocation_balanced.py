"""NodeResourcesBalancedAllocation: nodes with balanced use of cpu and memory score higher."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.plugins.resource_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
)
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import asking, other, scores

GPU = "example.com/gpu"


def score(pod: dict[str, Any], *placed: dict[str, Any], args: dict[str, Any] | None = None, **allocatable: str) -> int:
    plugin = NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs.model_validate(args or {}))
    return scores(plugin, pod, node_with("n", allocatable=allocatable), node_with("another"), *placed)["n"]


@pytest.mark.parametrize(
    ("pod", "placed", "wanted"),
    [
        pytest.param(asking(cpu="1", memory="2Gi"), [], 75, id="the balance stays"),
        pytest.param(asking(cpu="1"), [], 68, id="the balance worsens by an eighth"),
        pytest.param(asking(cpu="4"), [], 50, id="worst balance"),
        pytest.param(asking(memory="8Gi"), [other(cpu="4")], 100, id="best balance"),
        pytest.param(asking(cpu="8"), [], 50, id="usage above capacity counts as full"),
        pytest.param(asking(), [], 0, id="a pod without requests scores 0"),
        pytest.param(asking(cpu="0"), [other(cpu="4")], 0, id="a pod with requests of 0 scores 0"),
        pytest.param(asking(cpu="1"), [other()], 68, id="pods without requests do not count"),
        pytest.param(pod_with(resources={"requests": {"cpu": "4"}}), [], 50, id="pod-level requests count"),
    ],
)
def test_balanced_use_of_resources_scores_best(pod: dict[str, Any], placed: list[dict[str, Any]], wanted: int) -> None:
    assert score(pod, *placed) == wanted


THREE = {"resources": [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]}


@pytest.mark.parametrize(
    ("pod", "allocatable", "wanted"),
    [
        pytest.param(asking(**{"cpu": "4", GPU: "2"}), {GPU: "2"}, 51, id="three resources use the standard deviation"),
        pytest.param(asking(cpu="4"), {GPU: "2"}, 50, id="an unrequested resource is left out"),
        pytest.param(asking(**{"cpu": "4", GPU: "2"}), {}, 50, id="a resource missing on the node is left out"),
        pytest.param(asking(cpu="4"), {"memory": "0"}, 75, id="a single resource is balanced"),
    ],
)
def test_score_uses_resources_of_the_arguments(pod: dict[str, Any], allocatable: dict[str, str], wanted: int) -> None:
    assert score(pod, args=THREE, **allocatable) == wanted


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        pytest.param([{"name": "cpu"}, {"name": "cpu"}], "names one more than once", id="a resource listed twice"),
        pytest.param([{"name": "cpu", "weight": 2}], "must have weight 1", id="a weight"),
    ],
)
def test_error_names_invalid_arguments_of_the_balance_plugin(resources: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NodeResourcesBalancedAllocationArgs.model_validate({"resources": resources})
