"""Events on pods: the requests, and the interpretation of the API server's responses."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from berth.cluster.kubernetes_pod_events import KubernetesPodEvents
from berth.upkeep.pod_events import PodEvent, PodEventReason
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock

EVENT = PodEvent("ml", "a", "uid-a", PodEventReason.RESERVATION_DIVERGED, "the note")
PATH = "/apis/events.k8s.io/v1/namespaces/ml/events"
AT = 1_700_000_000.5
TERMINATING = {"message": "being terminated", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as found:
        yield found


@pytest.fixture
def events(kubernetes: KubernetesOnLoopback) -> KubernetesPodEvents:
    return KubernetesPodEvents(kubernetes.client(HandDrivenClock()), "watcher_1")


def test_creates_event_for_the_pod(kubernetes: KubernetesOnLoopback, events: KubernetesPodEvents) -> None:
    kubernetes.faults.append(Fault("POST", 201, raw=b"{}"))
    assert events.write(EVENT, "a.1", AT) == ""
    [request] = kubernetes.requests
    assert (request.method, request.path) == ("POST", PATH)
    assert request.body == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1", "namespace": "ml"},
        "eventTime": "2023-11-14T22:13:20.500000Z",
        "reportingController": "berth.dev/watcher",
        "reportingInstance": "watcher_1",
        "action": "Reconciling",
        "reason": "ReservationDiverged",
        "type": "Warning",
        "note": "the note",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "ml", "name": "a", "uid": "uid-a"},
    }


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(Fault("POST"), "broke", id="no response"),
        pytest.param(Fault("POST", 403, "forbidden"), "the verb create", id="permission"),
        pytest.param(Fault("POST", 422, "invalid"), "invalid", id="invalid event"),
        pytest.param(Fault("POST", 500, raw=b"[]"), "answered 500", id="an error"),
    ],
)
def test_reports_why_the_event_was_not_written(
    kubernetes: KubernetesOnLoopback, events: KubernetesPodEvents, fault: Fault, cause: str
) -> None:
    kubernetes.faults.append(fault)
    assert cause in events.write(EVENT, "a.1", AT)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("POST", 404, "no such namespace"), id="not found"),
        pytest.param(Fault("POST", 403, raw=orjson.dumps(TERMINATING)), id="being deleted"),
    ],
)
def test_missing_or_terminating_namespace_is_not_a_failure(
    kubernetes: KubernetesOnLoopback, events: KubernetesPodEvents, fault: Fault
) -> None:
    kubernetes.faults.append(fault)
    assert events.write(EVENT, "a.1", AT) == ""
