"""Interpretation of API server responses by the adapters of the Kubernetes API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_pods import KubernetesBinder, KubernetesReservedPods
from berth.pods import Binding, Created, PodChanged, PodNotFound, PodTouched, Refused, Unanswered
from berth.scheduling.objects.pod import PodKey
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock

BINDING = Binding("ml", "train-0", "uid-train-0", "n10")


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        yield kubernetes


@pytest.fixture
def api(kubernetes: KubernetesOnLoopback) -> ApiServer:
    return kubernetes.client(HandDrivenClock())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504])
def test_client_error_is_a_refusal_and_server_error_counts_as_unanswered(
    kubernetes: KubernetesOnLoopback, api: ApiServer, status: int
) -> None:
    kubernetes.faults += [Fault("POST", status, "no"), Fault("GET", status, "no")]
    binder, answer = KubernetesBinder(api), Refused(status, "no") if status < 500 else Unanswered("no")
    assert binder.create_binding(BINDING, 5) == answer
    assert binder.pod("ml", "train-0", 5) == answer


@pytest.mark.parametrize("content", [b"<html>log in</html>", b"", b"[]", b"{}", b'{"metadata": 7, "spec": 7}'])
def test_response_without_pod_is_unanswered(kubernetes: KubernetesOnLoopback, api: ApiServer, content: bytes) -> None:
    """Such a response does not show that the pod was replaced either."""
    kubernetes.faults.append(Fault("GET", 200, raw=content))
    assert isinstance(KubernetesBinder(api).pod("ml", "train-0", 5), Unanswered)


@pytest.mark.parametrize(
    ("binding", "metadata"),
    [
        pytest.param(BINDING, {}, id="the UID"),
        pytest.param(replace(BINDING, resource_version="7"), {"resourceVersion": "7"}, id="the version"),
        pytest.param(replace(BINDING, annotations={"a": "b"}), {"annotations": {"a": "b"}}, id="annotations"),
    ],
)
def test_sends_preconditions_and_annotations_with_the_binding(
    kubernetes: KubernetesOnLoopback, api: ApiServer, binding: Binding, metadata: dict[str, object]
) -> None:
    assert KubernetesBinder(api).create_binding(binding, 5) == Created()
    always = {"name": "train-0", "namespace": "ml", "uid": "uid-train-0"}
    assert kubernetes.requests[-1].body["metadata"] == always | metadata


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        pytest.param(None, PodTouched(), id="touched"),
        pytest.param(Fault("PATCH", 404), PodNotFound(), id="not found"),
        pytest.param(Fault("PATCH", 409), PodChanged(), id="another version"),
        pytest.param(Fault("PATCH", 422), PodChanged(), id="another UID"),
        pytest.param(
            Fault("PATCH", 403, "no"), Unanswered("no; give the watcher's user the verb patch on pods"), id="forbidden"
        ),
        pytest.param(Fault("PATCH"), Unanswered("the connection to {} broke (ProtocolError)"), id="no response"),
    ],
)
def test_touch_reports_whether_the_pod_was_touched_changed_or_not_found(
    kubernetes: KubernetesOnLoopback, api: ApiServer, fault: Fault | None, outcome: object
) -> None:
    kubernetes.faults += [] if fault is None else [fault]
    found = KubernetesReservedPods(api, lambda: 0.0).touch(PodKey("ml", "train-0", "uid-train-0"), "7")
    if isinstance(outcome, Unanswered):
        outcome = Unanswered(outcome.cause.format(kubernetes.host))
    assert found == outcome
