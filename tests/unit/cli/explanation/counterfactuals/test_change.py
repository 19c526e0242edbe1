"""Changes of the pod: a request is lowered wherever it stands."""

from __future__ import annotations

import pytest

from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.cli.explanation.cases import Object, changes

LOWERED = "lower the pod's request of cpu from {} to 4"


@pytest.mark.parametrize(
    ("pod", "before"),
    [
        pytest.param(pod_with(requests={"cpu": "5"}), "5", id="a container"),
        pytest.param(pod_with(containers=[container(cpu="3"), container("side", cpu="3")]), "6", id="two containers"),
        pytest.param(
            pod_with(containers=[container(cpu="1")], initContainers=[container("init", cpu="5")]),
            "5",
            id="an init container",
        ),
        pytest.param(pod_with(containers=[container()], resources={"requests": {"cpu": "5"}}), "5", id="the pod"),
        pytest.param(pod_with(containers=[container(cpu="4")], overhead={"cpu": "1"}), "5", id="with overhead"),
        pytest.param(
            pod_with(
                containers=[{"name": "main", "resources": {"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}}],
            ),
            "5",
            id="with a limit",
        ),
    ],
)
def test_lowers_a_request_in_every_container_that_sets_it(pod: Object, before: str) -> None:
    assert changes(pod, node_with("a")) == [LOWERED.format(before)]
