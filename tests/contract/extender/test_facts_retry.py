"""Facts 41 to 43 of docs/reference/extender-contract.md: a rejected pod is retried in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from berth.cluster.api_server.client import ApiServer
from berth.cluster.kubernetes_cluster import KubernetesObjectQueue
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.scheduling.framework.plugin import ALL_EVENTS
from berth.upkeep.wake_up import WaitingPod, WakeUp
from tests.builders.nodes import labelled, node
from tests.builders.requests import cache_mode
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback
from tests.fakes.clock import HandDrivenClock
from tests.fakes.cluster import RecordingQueue
from tests.fakes.verbs import Verbs

WAKE = "/apis/storage.k8s.io/v1/namespaces/kube-system/csistoragecapacities/berth-wake"


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        yield kubernetes


@pytest.fixture
def api(kubernetes: KubernetesOnLoopback) -> ApiServer:
    return kubernetes.client(HandDrivenClock())


@pytest.fixture
def queue(api: ApiServer) -> KubernetesObjectQueue:
    return KubernetesObjectQueue(api, HandDrivenClock())


def test_fact_42_unavailable_cache_returns_error_so_that_the_pod_is_retried() -> None:
    """An empty cache must not look like nodes that do not fit: that pod would wait for minutes (fact 41)."""
    verbs = Verbs(nodes=None)
    answer = verbs.ask("filter", cache_mode(["n10"])).json
    assert answer["FailedAndUnresolvableNodes"] == {}
    assert answer["Error"] != ""


def test_fact_43_wakes_queue_after_the_change_is_readable() -> None:
    verbs = Verbs([node("n1")])
    request = cache_mode(["n1"])
    assert verbs.ask("filter", request).json["NodeNames"] == []
    seen: list[list[str]] = []

    class PodTriedAgain(RecordingQueue):
        def wake(self, waiting: Sequence[str]) -> None:
            seen.append(verbs.ask("filter", request).json["NodeNames"])

    wake_up = WakeUp(PodTriedAgain(), lambda _: WaitingPod(ALL_EVENTS), verbs.clock, pytest.fail)
    verbs.cluster.publish("pods", [{"metadata": {"namespace": "ml", "name": "waiting"}}])
    changes = verbs.cluster.publish_nodes([labelled("n1", "10")])
    wake_up.published(Publication(1, changes, verbs.cluster.objects, True, Observation("cluster", {}), {}))
    wake_up.step()
    assert seen == [["n1"]]


def test_fact_43_wakes_queue_by_patching_one_inert_object(
    kubernetes: KubernetesOnLoopback, queue: KubernetesObjectQueue
) -> None:
    queue.wake(["ml/waiting"])
    [request] = kubernetes.requests
    assert (request.method, request.path) == ("PATCH", WAKE)
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.query == {"fieldManager": "berth", "force": "true"}
    assert request.body == {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "berth-wake", "annotations": {"berth.dev/woken-at": "1700000000.000"}},
        "storageClassName": "berth-wake",
    }


def test_fact_43_refused_wake_up_names_the_missing_permission(
    kubernetes: KubernetesOnLoopback, queue: KubernetesObjectQueue
) -> None:
    kubernetes.faults.append(Fault("PATCH", 403, 'csistoragecapacities "berth-wake" is forbidden'))
    with pytest.raises(ClusterUnavailable) as caught:
        queue.wake(["ml/waiting"])
    assert str(caught.value) == (
        'csistoragecapacities "berth-wake" is forbidden; give the watcher\'s user the verb patch on '
        "csistoragecapacities kube-system/berth-wake, or waiting pods are tried again only after minutes"
    )


def test_fact_43_reports_unanswered_wake_up(kubernetes: KubernetesOnLoopback, queue: KubernetesObjectQueue) -> None:
    kubernetes.faults.append(Fault("PATCH"))
    with pytest.raises(ClusterUnavailable, match="broke"):
        queue.wake(["ml/waiting"])
