"""What the API server's discovery says about a resource."""

from __future__ import annotations

from typing import cast

import pytest

from berth.cluster.api_server.client import Answer, ApiServer
from berth_cli.doctor.access.kubernetes_cluster import KubernetesAccess

DOCUMENTS: dict[str, dict[str, object]] = {
    "/apis/scheduling.k8s.io": {
        "versions": [{"groupVersion": "scheduling.k8s.io/v1"}, {"groupVersion": "scheduling.k8s.io/v1beta1"}]
    },
    "/apis/scheduling.k8s.io/v1": {"resources": [{"name": "priorityclasses"}]},
    "/apis/scheduling.k8s.io/v1beta1": {"resources": [{"name": "podgroups"}, {"name": "podgroups/status"}]},
}


class Discovery:
    """Answers from DOCUMENTS."""

    def request(self, method: str, path: str, **_: object) -> Answer:
        assert method == "GET"
        return Answer(200, DOCUMENTS[path])


@pytest.mark.parametrize(("resource", "is_served"), [("priorityclasses", True), ("podgroups", True), ("queues", False)])
def test_finds_resource_in_any_version(resource: str, is_served: bool) -> None:
    access = KubernetesAccess(cast("ApiServer", Discovery()), timeout=1)
    assert access.serves("scheduling.k8s.io", resource) is is_served
