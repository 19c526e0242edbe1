"""The Deployments of examples/, which the chart and `berth scheduler-config` print too, survive a drain."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.conftest import PROJECT

DOCUMENTS: list[dict[str, Any]] = [
    document
    for path in sorted(PROJECT.glob("examples/**/*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
    if document is not None and "kind" in document
]
DEPLOYMENTS = {
    each["metadata"]["name"]: each["spec"]
    for each in DOCUMENTS
    if each["kind"] == "Deployment" and each["metadata"]["name"].startswith("berth-")
}


def test_every_component_of_the_cluster_has_an_example() -> None:
    assert DEPLOYMENTS.keys() == {"berth-scheduler", "berth-sidecar", "berth-watcher"}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_replicas_are_on_different_nodes_and_are_evicted_one_by_one(name: str) -> None:
    selector = DEPLOYMENTS[name]["selector"]
    [spread] = DEPLOYMENTS[name]["template"]["spec"]["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["labelSelector"]) == ("kubernetes.io/hostname", selector)
    [budget] = [each["spec"] for each in DOCUMENTS if each["kind"] == "PodDisruptionBudget" and name in str(each)]
    assert budget == {"maxUnavailable": 1, "selector": selector}


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_containers_have_probes_and_request_memory(name: str) -> None:
    """kube-scheduler has deprecated /healthz since 1.31 (kubernetes/kubernetes#118148)."""
    for container in DEPLOYMENTS[name]["template"]["spec"]["containers"]:
        assert {"readinessProbe", "livenessProbe"} <= container.keys()
        assert container["resources"]["requests"]["memory"] != "128Mi"
        if container["name"] == "kube-scheduler":
            paths = [container[f"{each}Probe"]["httpGet"]["path"] for each in ("readiness", "liveness")]
            assert paths == ["/readyz", "/livez"]
