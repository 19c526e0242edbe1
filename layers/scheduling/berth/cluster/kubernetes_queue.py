"""Wakes the scheduling queue by a change to an object that the scheduler watches (fact 43)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from berth.cluster.api_server.client import APPLY, STRATEGIC_MERGE, Answer, ApiServer, ApiServerUnreachable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.upkeep.wake_up import SchedulingQueue

NAMESPACE = "kube-system"
NAME = "berth-wake"
CONDITION = "berth.dev/CacheCurrent"
TIMEOUT_SECONDS = 5.0

_OBJECT = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{NAME}"


class KubernetesObjectQueue(SchedulingQueue):
    """Applies a CSIStorageCapacity of an unused storage class. Needs `patch` on that one name.

    Server-side apply creates a missing object, which needs `create` once; the manifests in examples/ create it.
    """

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock

    def wake(self, waiting: Sequence[str]) -> None:
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": NAME, "annotations": {"berth.dev/woken-at": f"{self._clock():.3f}"}},
            "storageClassName": NAME,
        }
        answer = _patch(self._api, _OBJECT, body, APPLY, {"fieldManager": "berth", "force": "true"})
        if not answer.ok:
            raise ClusterUnavailable(
                f"{answer.message}; give the watcher's user the verb patch on csistoragecapacities "
                f"{NAMESPACE}/{NAME}, or waiting pods are tried again only after minutes"
            )


class KubernetesPodQueue(SchedulingQueue):
    """Sets a condition in the status of the waiting pods themselves; needs `patch` on pods/status, cluster-wide."""

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock

    def wake(self, waiting: Sequence[str]) -> None:
        condition = {"type": CONDITION, "status": "True", "message": f"{self._clock():.3f}"}
        for key in waiting:
            namespace, _, name = key.rpartition("/")
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
            answer = _patch(self._api, path, {"status": {"conditions": [condition]}}, STRATEGIC_MERGE, {})
            # A pod that was deleted meanwhile no longer waits.
            if not answer.ok and answer.status != 404:
                raise ClusterUnavailable(
                    f"{answer.message}; give the watcher's user the verb patch on pods/status, or set wakeUp: object"
                )


def _patch(api: ApiServer, path: str, body: object, content_type: str, query: Mapping[str, str]) -> Answer:
    try:
        return api.request("PATCH", path, query=query, body=body, content_type=content_type, timeout=TIMEOUT_SECONDS)
    except ApiServerUnreachable as error:
        raise ClusterUnavailable(str(error)) from error
