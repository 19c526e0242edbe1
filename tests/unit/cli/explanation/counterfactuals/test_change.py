"""Changes of the pod: a request is lowered wherever it is set."""

from __future__ import annotations

import pytest

from berth_cli.explanation.counterfactuals.search import search
from tests.builders.nodes import node_with
from tests.builders.pods import container, pod_with
from tests.unit.cli.explanation.cases import Object, changes, rules, target

LOWERED = "lower the pod's request of cpu from {} to 4"
LIMITED = {"name": "main", "resources": {"requests": {"cpu": "5"}, "limits": {"cpu": "5"}}}


@pytest.mark.parametrize(
    ("pod", "before", "containers"),
    [
        pytest.param(pod_with(requests={"cpu": "5"}), "5", "", id="a container"),
        pytest.param(
            pod_with(containers=[container(cpu="3"), container("side", cpu="3")]),
            "6",
            " (container main from 3 to 1)",
            id="two containers",
        ),
        pytest.param(
            pod_with(containers=[container(cpu="1")], initContainers=[container("init", cpu="5")]),
            "5",
            " (init container init from 5 to 4)",
            id="an init container",
        ),
        pytest.param(
            pod_with(containers=[container(cpu="100m")], initContainers=[container("s", "Always", cpu="6")]),
            "6100m",
            " (sidecar s from 6 to 3900m)",
            id="a sidecar",
        ),
        pytest.param(
            pod_with(
                containers=[container(cpu="1")],
                initContainers=[container("s", "Always", cpu="2"), container("init", cpu="3")],
            ),
            "5",
            " (init container init from 3 to 2)",
            id="an init container beside a sidecar",
        ),
        pytest.param(
            pod_with(
                containers=[container(cpu="1")],
                initContainers=[container("init", cpu="5"), container("s", "Always", cpu="4")],
            ),
            "5",
            " (init container init from 5 to 4, sidecar s from 4 to 3)",
            id="an init container before a sidecar",
        ),
        pytest.param(pod_with(containers=[container()], resources={"requests": {"cpu": "5"}}), "5", "", id="the pod"),
        pytest.param(
            pod_with(containers=[container(cpu="4")], overhead={"cpu": "1"}),
            "5",
            " (container main from 4 to 3, overhead 1)",
            id="with overhead",
        ),
        pytest.param(pod_with(containers=[LIMITED]), "5", "", id="with a limit"),
    ],
)
def test_lowers_a_request_in_every_container_that_sets_it(pod: Object, before: str, containers: str) -> None:
    assert changes(pod, node_with("a")) == [LOWERED.format(before) + containers]


def test_document_names_the_changed_containers() -> None:
    pod = pod_with(containers=[container()], initContainers=[container("init", cpu="5")])
    [found] = search(target(pod, node_with("a")).case, rules(), lambda: False).found
    assert found.changes[0].details["containers"] == {"init container init": {"from": "5", "to": "4"}}
