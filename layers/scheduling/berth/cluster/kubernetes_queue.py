"""Wakes the scheduling queue by a change to an object that the scheduler watches (fact 43)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from berth.cluster.api_server.client import APPLY, ApiServer, ApiServerUnreachable
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.upkeep.wake_up import SchedulingQueue

NAMESPACE = "kube-system"
NAME = "berth-wake"
TIMEOUT_SECONDS = 5.0

_OBJECT = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{NAME}"


class KubernetesObjectQueue(SchedulingQueue):
    """Applies a CSIStorageCapacity of an unused storage class. Needs `patch` on the object's name.

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
        query = {"fieldManager": "berth", "force": "true"}
        try:
            answer = self._api.request(
                "PATCH", _OBJECT, query=query, body=body, content_type=APPLY, timeout=TIMEOUT_SECONDS
            )
        except ApiServerUnreachable as error:
            raise ClusterUnavailable(str(error)) from error
        if not answer.ok:
            raise ClusterUnavailable(
                f"{answer.message}; give the watcher's user the verb patch on csistoragecapacities "
                f"{NAMESPACE}/{NAME}, or waiting pods are tried again only after minutes"
            )
